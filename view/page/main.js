// SPDX-License-Identifier: Apache-2.0
// The state of the page, in the address behind "#" too, and what keys and buttons do to it.

const state = {type: 0, zoom: 0, selected: -1, query: "", flip: false};
const graph = new Graph({onPick: pickFrame});
const table = new FunctionTable({onPick: select});
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;

function change(changes, {replace = false} = {}) {
  Object.assign(state, changes);
  const hash = "#" + new URLSearchParams(Object.entries({t: state.type, z: state.zoom, f: state.selected + 1, q: state.query, o: state.flip ? 1 : 0}).filter(([, value]) => value));
  try {
    if (hash !== (location.hash || "#")) history[replace ? "replaceState" : "pushState"](null, "", hash);
  } catch { /* some browsers bound how often in a minute */ }
  show();
}

function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (key, below) => {
    const value = Number(said.get(key));
    return Number.isInteger(value) && value >= 0 && value < below ? value : 0;
  };
  state.type = number("t", data.types.length);
  state.zoom = number("z", modelOf(state.type).count);
  state.selected = number("f", functions.count + 1) - 1;
  state.query = (said.get("q") ?? "").slice(0, 500);
  state.flip = said.get("o") === "1";
  show();
}

function show() {
  const model = modelOf(state.type);
  const matches = matchesOf(state.query);
  if (state.selected >= 0 && !model.used[state.selected]) state.selected = -1;
  if (model !== show.model) showType(model);
  graph.show({model, zoom: state.zoom, selected: state.selected, matches, flip: state.flip});
  showPanel(model, state.selected, select);
  table.show(model, state.selected);
  showPath(model);
  showMatched(model, matches);
  if (byId("search").value !== state.query) byId("search").value = state.query;
  byId("reset").disabled = state.zoom === 0;
  byId("flip").title = state.flip ? "Root on top" : "Root at the bottom";
}

function showType(model) {
  show.model = model;
  byId("sentence").replaceChildren(...sentence(model, select));
  byId("facts").textContent = facts(model);
  showChanges(model, select);
  showLegend(model);
  [...byId("types").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === state.type)));
}

function showPath(model) {
  const path = [];
  for (let i = state.zoom; i !== 0; i = model.parent[i]) path.unshift(i);
  const shown = path.length > 6 ? [path[0], -1, ...path.slice(-4)] : path;
  const step = (i) => i < 0 ? "…" : i === state.zoom
    ? element("b", {class: "name", title: model.name(i)}, shortName(model.name(i)))
    : element("button", {class: "link", type: "button", title: model.name(i), onclick: () => change({zoom: i})}, shortName(model.name(i)));
  const parts = [0, ...shown].flatMap((i, at) => at === 0 ? [step(i)] : [" › ", step(i)]);
  const values = model.total.map((side) => valueText(side[state.zoom], model.unit)).join(" → ");
  const shares = model.total.map((_, s) => percentText(model.share(model.total, state.zoom, s))).join(" → ");
  byId("path").replaceChildren(...parts, element("span", {}, `${NBSP}${values}, ${shares}`));
}

function showMatched(model, matches) {
  const sums = matches ? model.sumOf(matches) : [];
  const shares = sums.map((sum, s) => percentText(ratio(sum, model.total[s][0]))).join(" → ");
  const count = matches ? matches.reduce((n, match, f) => n + (match && model.used[f]), 0) : 0;
  byId("matched").replaceChildren(...(matches ? [element("b", {}, shares), ` matched (${sums.map((sum) => valueText(sum, model.unit)).join(" → ")}, ${exactText(count)} function${count === 1 ? "" : "s"})`] : []));
}

function pickFrame(i) {
  const model = modelOf(state.type);
  change({zoom: i, selected: i === 0 ? -1 : model.fn[i]});
}

function select(f) {
  change({selected: f});
}

function showTheme() {
  const theme = chosenTheme ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").title = theme === "dark" ? "Switch to light colours" : "Switch to dark colours";
  if (graph.model) {
    graph.readColors();
    graph.draw();
  }
}

function onKey(event) {
  const typing = event.target.matches("input[type=search]");
  const find = event.key === "f" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  if (find && document.activeElement === byId("search")) return; // the second time it is the browser's own
  if (find || event.key === "/" && !typing) {
    event.preventDefault();
    byId("search").focus();
    byId("search").select();
  } else if (event.key === "Escape") {
    event.preventDefault();
    reset(event.target);
  }
}

// Escape takes back one thing after the other: the search, then zoom and selection.
function reset(target) {
  if (target === byId("filter")) {
    target.value = "";
    table.refresh();
  } else if (state.query) {
    change({query: ""});
  } else if (state.zoom || state.selected >= 0) {
    change({zoom: 0, selected: -1});
  }
}

function start() {
  document.title = data.title ? `${data.title} – flame graph` : "Flame graph";
  byId("title").textContent = data.title;
  byId("version").textContent = `profrelay ${data.version}`;
  byId("types").append(...data.types.map((t, i) => element("button", {type: "button", title: t.unit, onclick: () => change({type: i, zoom: 0})}, t.type)));
  byId("types").hidden = data.types.length < 2;
  byId("search").oninput = () => change({query: byId("search").value}, {replace: true});
  byId("reset").onclick = () => change({zoom: 0});
  byId("flip").onclick = () => change({flip: !state.flip});
  byId("theme").onclick = () => { chosenTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; showTheme(); };
  dark.addEventListener("change", showTheme);
  addEventListener("keydown", onKey);
  addEventListener("popstate", readAddress);
  showTheme();
  readAddress();
}

start();
