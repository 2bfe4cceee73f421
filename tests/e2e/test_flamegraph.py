# SPDX-License-Identifier: Apache-2.0
"""The flame graph as a person meets it: the page in headless Chromium, the still picture under an XML parser."""
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

from support import corpus, pprof_make
from support.browser import Browser
from support.pprof_make import block, number, packed
from support.process import run

ROW = 20  # height of a frame
GO = "/usr/local/go/src/"
WORK, READ, MAIN = ("app.work", "/src/app/work.go"), ("app.read", "/src/app/read.go"), ("main.main", "/src/app/main.go")
MOVE, POLL, START = ("runtime.memmove", GO + "runtime/memmove.s"), ("net.poll", GO + "net/poll.go"), ("runtime.main", GO + "runtime/proc.go")
TYPES = (("samples", "count"), ("cpu", "nanoseconds"))  # the last is the one shown first
# Root first, samples and values in 100 ms: app.work has 80 % with what it calls, and calls itself.
SAMPLES = [
    ([START, MAIN, WORK], (50, 500)),
    ([START, MAIN, WORK, WORK], (1, 100)),
    ([START, MAIN, WORK, MOVE], (2, 200)),
    ([START, MAIN, READ, POLL], (90, 150)),
    ([START, MAIN, READ], (5, 50)),
]
SECONDS = [(stack, (count, value * 100_000_000)) for stack, (count, value) in SAMPLES]


def profile(samples, types=TYPES):
    """A pprof of stacks [((name, file) ... root first), values]."""
    strings = pprof_make.Strings()
    functions = {}
    for stack, _ in samples:
        for f in stack:
            functions.setdefault(f, len(functions) + 1)
    parts = [block(1, number(1, strings(t)) + number(2, strings(u))) for t, u in types]
    for stack, values in samples:
        parts.append(block(2, packed(1, [functions[f] for f in reversed(stack)]) + packed(2, list(values))))
    for (name, file), i in functions.items():
        parts.append(block(4, number(1, i) + block(4, number(1, i))))
        parts.append(block(5, number(1, i) + number(2, strings(name)) + number(4, strings(file))))
    return b"".join(parts) + strings.encode()


def page_of(folder, *profiles, command=None, options=(), suffix="html"):
    """Path of the page of one profile, or of two compared."""
    paths = []
    for i, samples in enumerate(profiles):
        paths.append(folder / f"{'ab'[i]}.pb")
        paths[-1].write_bytes(samples if isinstance(samples, bytes) else profile(samples))
    out = folder / f"page.{suffix}"
    done = run(command or ("flamegraph" if len(paths) == 1 else "diff"), *paths, "-o", out, *options)
    assert done.returncode == 0, done.stderr
    return out


def words(page, selector):
    """The text of an element with ordinary spaces."""
    return re.sub(r"\s+", " ", page.text(selector)).strip()


def rows(page, selector):
    return [re.sub(r"\s+", " ", text).strip() for text in page.texts(selector)]


def assert_silent(page):
    assert page.errors() == [], page.errors()
    assert page.requests() == [], page.requests()


def shown(page, selector):
    assert page.eval(f"!document.querySelector('{selector}').hidden"), f"{selector} is hidden"
    return words(page, selector)


def test_first_line_graph_and_search(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        assert words(page, "#sentence") == "80 % of cpu is in app.work.", words(page, "#sentence")
        assert words(page, "#facts").startswith("60.0 % in the function itself, the rest in library and runtime code that it calls. Total 100 s · 5 samples")
        assert words(page, "#path") == "all 100 s, 100 %"
        page.hover("#graph", 10, 3.5 * ROW)
        tip = shown(page, "#tip")
        assert all(part in tip for part in ("app.work", "/src/app/work.go", "Self 50.0 s 50.0 %", "Total 80.0 s 80.0 %")), tip
        page.click("#search")
        page.type("APP.W")
        assert words(page, "#matched") == "80.0 % matched (80.0 s, 1 function)", "a sample with a recursion counts once"
        page.key("Escape")
        assert words(page, "#matched") == "" and page.eval("document.querySelector('#search').value") == ""
        page.click("#search")
        page.type("/^(net|runtime\\.mem)/")
        assert words(page, "#matched") == "35.0 % matched (35.0 s, 2 functions)"
        page.eval("document.querySelector('#search').select()")
        page.type("/(/")
        assert words(page, "#matched").startswith("0.00 % matched")
        assert_silent(page)


def colours_in(page, x, row):
    """The colour in the middle of a row of the graph."""
    return page.eval(f"(() => {{ const c = document.querySelector('#canvas'), d = devicePixelRatio;"
                     f"return [...c.getContext('2d').getImageData({x} * d, ({row} * {ROW} + 2) * d, 1, 1).data]; }})()")


def test_zoom(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        width = page.eval("document.querySelector('#graph').clientWidth")
        own, foreign = colours_in(page, 5, 3), colours_in(page, 5, 1)
        spread = [max(c[:3]) - min(c[:3]) for c in (own, foreign)]
        assert spread[0] > 2 * spread[1], f"own code is not stronger than the runtime: {own} {foreign}"
        assert colours_in(page, width * 0.95, 5) [3] == 0, "there is a frame where none was"
        page.click("#graph", width * 0.9, 3.5 * ROW)  # app.read
        assert words(page, "#path") == "all › runtime.main › main.main › app.read 20.0 s, 20.0 %", words(page, "#path")
        assert colours_in(page, width * 0.7, 4)[3] == 255, "net.poll fills three quarters now"
        assert words(page, "#panel h2") == "app.read"
        page.click("#path button:nth-of-type(3)")
        assert words(page, "#path").startswith("all › runtime.main › main.main 100 s")
        page.eval("new Promise((done) => { addEventListener('popstate', () => done(), {once: true}); history.back(); })")
        assert "app.read" in words(page, "#path")
        fragment = page.eval("location.hash")
        page.click("#reset")
        assert words(page, "#path") == "all 100 s, 100 %" and page.eval("document.querySelector('#reset').disabled")
        page.click("#flip")
        height = page.eval("document.querySelector('#space').clientHeight")
        page.click("#graph", 10, height - 3.5 * ROW)
        assert words(page, "#path").startswith("all › runtime.main › main.main › app.work 80.0 s")
        assert_silent(page)
        page = browser.open(folder / "page.html", fragment)
        assert "app.read" in words(page, "#path"), "the address does not hold the zoom"
        assert_silent(page)


def test_nonsense_in_the_address_does_no_harm(folder):
    path = page_of(folder, SECONDS)
    with Browser(folder) as browser:
        for fragment in ("#t=99&z=1e9&f=-4&q=%00&o=x", "#z=-1&f=0.5&t=NaN", "#%", "#q=%3Cimg%20src=x%20onerror=alert(1)%3E&z=3"):
            page = browser.open(path, fragment)
            assert words(page, "#sentence").startswith("80 % of cpu"), fragment
            assert_silent(page)


def test_callers_and_callees(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        assert rows(page, "#panel h3") == ["Most cpu in own code"]
        page.click("#sentence a")
        assert words(page, "#panel h2") == "app.work" and words(page, "#panel .tag") == "own code"
        assert words(page, "#panel .figures") == "Self 60.0 s 60.0 % Total 80.0 s 80.0 % Own code 80.0 s 80.0 %"
        assert rows(page, "#panel ol:nth-of-type(1) li") == ["main.main 80.0 s 100 %", "app.work 10.0 s 12.5 %"]
        assert rows(page, "#panel ol:nth-of-type(2) li") == ["itself 60.0 s 75.0 %", "runtime.memmove 20.0 s 25.0 %", "app.work 10.0 s 12.5 %"]
        page.click("#panel ol:nth-of-type(2) li:nth-child(2) button")
        assert words(page, "#panel h2") == "runtime.memmove" and words(page, "#panel .tag") == "library, runtime or kernel"
        page.click("#panel ol:nth-of-type(1) li:nth-child(1) button")
        page.click("#panel ol:nth-of-type(1) li:nth-child(1) button")
        page.click("#panel ol:nth-of-type(1) li:nth-child(1) button")
        assert words(page, "#panel h2") == "runtime.main"
        assert rows(page, "#panel ol:nth-of-type(1) li") == ["nobody: stacks begin here 100 s 100 %"]
        assert_silent(page)


def column(page, number):
    return rows(page, f"#table tbody td:nth-child({number})")


def names(page):
    return rows(page, "#table tbody .name")


def test_table(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        assert names(page) == ["app.work", "runtime.memmove", "net.poll", "app.read", "main.main", "runtime.main"]
        assert column(page, 2) == ["60.0 s 60.0 %", "20.0 s 20.0 %", "15.0 s 15.0 %", "5.00 s 5.0 %", "0 0.00 %", "0 0.00 %"]
        page.click("#table th:nth-child(3) button")
        assert page.eval("document.querySelector('#table th:nth-child(3)').ariaSort") == "descending"
        assert names(page) == ["main.main", "runtime.main", "app.work", "app.read", "runtime.memmove", "net.poll"]
        page.click("#table th:nth-child(3) button")
        assert names(page)[-2:] == ["runtime.main", "main.main"]
        page.click("#table th:nth-child(4) button")
        assert column(page, 4)[:3] == ["80.0 s 80.0 %", "20.0 s 20.0 %", "0 0.00 %"] and column(page, 4)[-1] == ""
        page.click("#table th:nth-child(1) button")
        assert names(page) == sorted(names(page))
        page.click("#own")
        assert names(page) == ["app.read", "app.work", "main.main"] and words(page, "#shown") == "3 functions"
        page.click("#filter")
        page.type("work.go")
        assert names(page) == ["app.work"]
        page.click("#table tbody .link")
        assert words(page, "#panel h2") == "app.work"
        assert page.eval("document.querySelector('#table tbody tr').ariaCurrent") == "true"
        assert_silent(page)


def whole_numbers(page, column):
    """The exact values of a column of the whole table, by function."""
    while page.eval("!document.querySelector('#more').hidden"):
        page.eval("document.querySelector('#more').click()")
    pairs = page.eval("[...document.querySelectorAll('#table tbody tr')].map((r) => [r.querySelector('.name').textContent, r.cells[%d].title])" % column)
    return sorted((name, int(re.sub("[^0-9\u2212]", "", value).replace("\u2212", "-"))) for name, value in pairs)


def test_table_agrees_with_top(folder):
    # The names of invalid_utf8 hold control characters, which page and terminal spell in their own ways.
    files = sorted(f for f in corpus("pprof").iterdir() if f.suffix != ".json" and "invalid_utf8" not in f.name)
    told = 0
    with Browser(folder) as browser:
        for file in files:
            page = browser.open(page_of(folder, file.read_bytes()))
            done = run("top", "--raw", "-n", "0", file)
            lines = [line.split("\t", 2) for line in done.stdout.splitlines()]
            assert done.returncode == 0, file.name
            told += len(lines) > 0  # not those without a sample of their default type
            self, names = Counter(), Counter()  # top adds up functions of one name, as pprof does
            for name, value in whole_numbers(page, 1):
                self[name] += value
                names[name] += 1
            assert self == {f: int(value) for value, _, f in lines}, file.name
            alone = [(f, value) for f, value in whole_numbers(page, 2) if names[f] == 1]
            assert alone == sorted((f, int(total)) for _, total, f in lines if names[f] == 1), file.name
            assert_silent(page)
    assert told > 20


def test_own_code_as_the_user_says(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS, options=("--own", "^net\\.")))
        assert words(page, "#sentence") == "15 % of cpu is in net.poll."
        page = browser.open(page_of(folder, SECONDS, options=("--own", "^nothing$")))
        assert words(page, "#sentence") == "60 % of cpu is in app.work."
        assert words(page, "#facts").startswith("None of its functions is known as your own code (--own")


def test_type_switch(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        assert rows(page, "#types button") == ["cpu", "samples"]
        page.click("#graph", 10, 3.5 * ROW)
        page.click("#types button:nth-child(2)")
        assert words(page, "#sentence") == "64 % of samples is in app.read.", words(page, "#sentence")
        assert words(page, "#path") == "all 148, 100 %"
        assert page.eval("document.querySelector('#types button:nth-child(2)').ariaPressed") == "true"
        assert names(page)[0] == "net.poll" and column(page, 2)[0] == "90 60.8 %"
        assert_silent(page)


def test_keys(folder):
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS))
        page.key("/", "/")
        page.type("poll")
        assert words(page, "#matched") == "15.0 % matched (15.0 s, 1 function)" and page.eval("document.activeElement.id") == "search"
        page.eval("document.activeElement.blur()")
        page.key("f", modifiers=2)
        assert page.eval("document.activeElement.id") == "search"
        page.key("Escape")
        page.eval("document.querySelector('#graph').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
            page.key(key)
        assert words(page, "#spoken") == "app.read: total 20.0 s, 20.0 %", words(page, "#spoken")
        page.key("ArrowLeft")
        assert words(page, "#spoken").startswith("app.work: total 80.0 s")
        page.key("ArrowUp")
        assert words(page, "#spoken").startswith("main.main")
        page.key("ArrowDown")
        page.key("Enter")
        assert words(page, "#path").endswith("app.work 80.0 s, 80.0 %")
        page.key("Escape")
        assert words(page, "#path") == "all 100 s, 100 %"
        assert_silent(page)


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


COLOURS = """(() => {
  const box = document.createElement("div"), space = "http://www.w3.org/2000/svg", out = {};
  document.body.append(box);
  for (const name of ["page", "card", "soft", "meter", "text", "dim", "accent", "worse", "better", "match", "frame-text"]) {
    box.style.color = `var(--${name})`;
    out[name] = getComputedStyle(box).color;
  }
  const rect = document.createElementNS(space, "rect");
  box.append(document.createElementNS(space, "svg"));
  box.firstChild.append(rect);
  for (const name of [...Array(17).keys()].map((i) => "c" + i).concat([...Array(11).keys()].map((i) => "d" + i))) {
    rect.setAttribute("class", name);
    out[name] = getComputedStyle(rect).fill;
  }
  box.remove();
  return out;
})()"""


def assert_legible(colours):
    for name, colour in colours.items():
        if re.fullmatch(r"[cd]\d+", name):
            assert contrast(colour, colours["frame-text"]) >= 4.5, f"text on {name}: {colour}"
    for name in ("text", "dim", "accent", "worse", "better", "match"):
        for ground in ("page", "card", "soft", "meter"):
            if (name, ground) != ("match", "meter") and (name, ground) != ("match", "soft"):
                assert contrast(colours[name], colours[ground]) >= 4.5, f"{name} on {ground}: {contrast(colours[name], colours[ground]):.2f}"
    assert len({colours[f"c{i}"] for i in range(17)}) == 17 and len({colours[f"d{i}"] for i in range(11)}) == 11


def test_dark_and_light(folder):
    path = page_of(folder, SECONDS)
    with Browser(folder) as browser:
        for dark in (False, True):
            page = browser.open(path, dark=dark)
            for _ in range(2):
                assert page.eval("document.documentElement.dataset.theme") == ("dark" if dark else "light")
                colours = page.eval(COLOURS)
                assert (luminance(colours["page"]) < 0.1) == dark
                assert_legible(colours)
                red, green, blue, _ = colours_in(page, 5, 3)
                assert f"rgb({red}, {green}, {blue})" in (colours[f"c{i}"] for i in range(8)), "the graph has other colours"
                page.click("#theme")
                dark = not dark
            assert_silent(page)


def test_narrow_screen(folder):
    with Browser(folder, width=500) as browser:
        page = browser.open(page_of(folder, SECONDS))
        page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=2, mobile=True)
        page.settle()
        assert page.eval("document.documentElement.scrollWidth <= 360"), "the page is wider than the screen"
        page.click("#graph", 10, 3.5 * ROW)
        assert "app.work" in words(page, "#path") and words(page, "#panel h2") == "app.work"
        assert page.eval("document.querySelector('#canvas').width") == 2 * page.eval("document.querySelector('#graph').clientWidth")
        assert_silent(page)


HOSTILE = ["</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>", "\"'><svg onload=window.hacked=1>",
           "${window.hacked = 1}", "javascript:window.hacked=1", "__proto__", "constructor", "a\u202egnp.exe", "\u2028\u2029\0\x1b[31m", "שלום 中文 🔥",
           "]]>&lt;!--", "x" * 5000]


def test_hostile_names_are_harmless(folder):
    samples = [([(name, name)] * (1 + i % 2), (1, 100 + i)) for i, name in enumerate(HOSTILE)]
    path = page_of(folder, profile(samples, types=(("toString", "__proto__"), ("<b>t</b>", "<i>"))))
    with Browser(folder) as browser:
        page = browser.open(path)
        page.click("#types button:nth-child(2)")
        page.click("#types button:nth-child(1)")
        for i in range(len(HOSTILE)):
            page.click("#graph", 3 + i * 60, 1.5 * ROW)
            page.hover("#graph", 30, 1.5 * ROW)
            page.key("Escape")
        got = page.eval("[...document.querySelectorAll('#table tbody .name')].map((e) => e.textContent)")
        seen = [HOSTILE[i] for i in (0, 1, 2, 3, 4, 5, 6, 9, 10, 11)] + ["a\\u202egnp.exe", "\\u2028\\u2029\\u0000\\u001b[31m"]
        assert sorted(got) == sorted(seen), set(got) ^ set(seen)
        assert page.eval("window.hacked") is None and page.eval("({}).x") is None
        assert page.eval("document.querySelectorAll('img, b b, i, table svg:not(.swatch)').length") == 0
        assert rows(page, "#types button") == ["<b>t</b>", "toString"]
        assert_silent(page)
        page.eval("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 2'}))")
        page.eval("document.body.insertAdjacentHTML('beforeend', '<img src=\"https://example.invalid/x.png\">')")
        page.eval("fetch('https://example.invalid/').catch(() => 0)")
        assert page.eval("window.hacked") is None, "the policy lets other scripts in"
        assert len(page.errors()) >= 3, "the policy forbids nothing"


def test_values_beyond_double_precision(folder):
    large = [([WORK], (1, 2**62)), ([READ], (1, 2**61 + 1)), ([READ, POLL], (1, 3))]
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, large))
        titles = page.eval("[...document.querySelectorAll('#table tbody tr')].map((r) => r.cells[1].title.replace(/\\D/g, '') + ' ' + r.cells[2].title.replace(/\\D/g, ''))")
        assert titles == [f"{2**62} {2**62}", f"{2**61 + 1} {2**61 + 4}", "3 3"], titles
        page.click("#search")
        page.type("app.read")
        assert words(page, "#matched").startswith("33.3 % matched")
        page.click("#graph", 10, 1.5 * ROW)
        assert_silent(page)


def test_negative_values(folder):
    delta = [([MAIN, WORK], (1, -300)), ([MAIN, READ], (1, 100))]
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, delta))
        width = page.eval("document.querySelector('#graph').clientWidth")
        page.hover("#graph", width * 0.7, 2.5 * ROW)
        assert "app.work" in shown(page, "#tip") and "Total \u2212300 ns" in shown(page, "#tip"), shown(page, "#tip")
        assert_silent(page)


def test_nothing_to_show(folder):
    with Browser(folder) as browser:
        for samples in ([], [([MAIN], (0, 0))], [([], (1, 5))]):
            page = browser.open(page_of(folder, samples))
            assert "cpu" in words(page, "#sentence"), words(page, "#sentence")
            assert_silent(page)


AFTER = [
    ([START, MAIN, WORK], (20, 200)),
    ([START, MAIN, WORK, MOVE], (2, 200)),
    ([START, MAIN, READ, POLL], (90, 600)),
    ([START, MAIN, ("app.fresh", "/src/app/fresh.go")], (7, 1000)),
]


def test_diff(folder):
    after = [(stack, (count, value * 100_000_000)) for stack, (count, value) in AFTER]
    with Browser(folder) as browser:
        page = browser.open(page_of(folder, SECONDS, after))
        assert words(page, "#sentence") == "cpu grew by 100 %; app.fresh takes 50.0 points more of it.", words(page, "#sentence")
        assert words(page, "#facts").startswith("before 100 s, after 3.33 min · ")
        assert rows(page, "#worsened li") == ["app.fresh 0 → 100 s +50.0 pp", "net.poll 15.0 s → 60.0 s +15.0 pp"]
        assert rows(page, "#improved li") == ["app.work 60.0 s → 20.0 s −50.0 pp", "runtime.memmove 20.0 s → 20.0 s −10.0 pp", "app.read 5.00 s → 0 −5.0 pp"]
        assert names(page)[0] == "app.fresh" and names(page)[-1] == "app.work"
        width = page.eval("document.querySelector('#graph').clientWidth")
        place = {}
        for x in range(2, int(width), 8):
            page.hover("#graph", x, 3.5 * ROW)
            if page.eval("!document.querySelector('#tip').hidden"):
                place.setdefault(page.text("#tip .name"), x)
        page.hover("#graph", place["app.work"], 3.5 * ROW)
        assert "Total 80.0 s (80.0 %) → 40.0 s (20.0 %) −60.0 pp" in words(page, "#tip"), words(page, "#tip")
        page.hover("#graph", 2, 0.5 * ROW)
        worse, better, same = (colours_in(page, place[name], 3) for name in ("app.fresh", "app.work", "app.read"))
        assert worse[0] > worse[2] + 50 and better[2] > better[0] + 50, f"{worse} is not red, {better} not blue"
        assert same[0] > same[2], "what grew by half is not reddish"
        page.click("#worsened button")
        assert words(page, "#panel h2") == "app.fresh"
        page.click("#graph", place["app.work"], 3.5 * ROW)
        assert words(page, "#path").endswith("app.work 80.0 s → 40.0 s, 80.0 % → 20.0 %")
        page.click("#types button:nth-child(2)")
        assert words(page, "#sentence").startswith("samples shrank by 20 %"), words(page, "#sentence")
        assert_silent(page)
        same = browser.open(page_of(folder, SECONDS, SECONDS))
        assert words(same, "#sentence") == "cpu stayed the same; no function takes a larger share."
        assert rows(same, "#worsened li") == rows(same, "#improved li") == ["nothing"]


def many_stacks(count, functions=4000):
    rng = random.Random(5)
    known = [(f"example.com/app/pkg{i % 97}.(*T{i % 13}).method{i}", f"/src/app/pkg{i % 97}/f.go" if i % 3 else GO + f"net/f{i % 5}.go")
             for i in range(functions)]
    samples = []
    for k in range(count):
        at = rng.randrange(20)
        stack = [known[at]]
        for _ in range(rng.randint(5, 40)):
            at = (at * 7 + rng.choice((1, 1, 1, 1, 2, 3, int(rng.expovariate(0.3)), k % functions))) % functions
            stack.append(known[at])
        stack.append((f"leaf{k}", "/src/app/leaf.go"))
        samples.append((stack, (rng.randint(1, 100) * 10_000_000,)))
    return samples


def test_fifty_thousand_stacks(folder):
    path = page_of(folder, profile(many_stacks(50_000), types=TYPES[1:]))
    with Browser(folder) as browser:
        page = browser.open(path)
        took = {"load": page.load_seconds}
        for name, act in (("zoom", lambda: page.click("#graph", 20, 2.5 * ROW)), ("search", lambda: (page.click("#search"), page.type("method1"))),
                          ("reset", lambda: page.key("Escape")), ("sort", lambda: page.click("#table th:nth-child(3) button"))):
            took[name] = page.eval("performance.now()")
            act()
            took[name] = (page.eval("performance.now()") - took[name]) / 1000
        assert words(page, "#facts").find("50 000 samples") > 0
        assert page.eval("document.querySelectorAll('*').length") < 3000, "everything is in the document"
        assert_silent(page)
        print("    seconds: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in took.items()), flush=True)
        assert took["load"] < 6, took  # under 2 on a machine that has nothing else to do
        assert max(v for k, v in took.items() if k != "load") < 3, took


def test_the_picture_is_sound(folder):
    samples = SECONDS + [([START, (name, name)], (1, 1_000_000_000)) for name in HOSTILE] + [([("tiny", "")], (1, 1))]
    path = page_of(folder, samples, suffix="svg")
    root = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    titles = [e.text for e in root.iter(space + "title")]
    assert any(t.startswith("app.work: ") and t.endswith(", self 50.0 s") for t in titles), titles
    assert "</script><script>window.hacked = 1</script>" in "".join(titles)
    text = "".join(root.itertext())
    assert "1 frame narrower than 0.5 px left out." in text
    assert not list(root.iter(space + "script"))
    with Browser(folder) as browser:
        page = browser.open(path)
        assert page.eval("document.querySelectorAll('path').length") == len(titles) - 1
        assert page.eval("typeof hacked") == "undefined"
        assert_silent(page)
