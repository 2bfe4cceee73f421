// SPDX-License-Identifier: Apache-2.0
// Words and lists around the graph: first line, figures, callers and callees, what changed most.

const sideNames = ["before", "after"];

function figure(label, model, values, key) {
  if (!model.isDiff)
    return [element("dt", {}, label), element("dd", {}, valueText(values[0][key], model.unit)), element("dd", {class: "plain"}, percentText(model.share(values, key, 0)))];
  const change = model.measure(values, key);
  return [
    element("dt", {}, label),
    element("dd", {}, values.map((side, s) => `${valueText(side[key], model.unit)} (${percentText(model.share(values, key, s))})`).join(" → ")),
    element("dd", {class: "plain " + changeClass(change)}, pointsText(change)),
  ];
}

// What the tooltip says of a frame.
function frameLines(model, i) {
  const where = i === 0 ? "" : functions.where(model.fn[i]);
  return [
    element("div", {class: "name"}, model.name(i)),
    element("div", {class: "where"}, where),
    element("dl", {class: "figures"}, ...figure("Self", model, model.self, i), ...figure("Total", model, model.total, i)),
  ];
}

function frameSentence(model, i) {
  const totals = model.total.map((side, s) => `${valueText(side[i], model.unit)}, ${percentText(model.share(model.total, i, s))}`);
  return `${model.name(i)}: total ${totals.join(", then ")}`;
}

// The first line in words. pick(f) shows a function.
function sentence(model, pick) {
  const link = (f) => element("a", {class: "name", href: "#", title: functions.name(f), onclick: () => { pick(f); return false; }}, shortName(functions.name(f)));
  if (model.total.every((side) => side[0] == 0)) return [`There is no ${model.type} in this profile.`];
  return model.isDiff ? diffSentence(model, link) : plainSentence(model, link);
}

function plainSentence(model, link) {
  const own = largestOwn(model);
  const values = own === undefined ? model.selfOf : model.ownOf;
  const f = own ?? model.sorted((g) => model.share(model.selfOf, g, 0))[0];
  if (f === undefined) return [`${valueText(model.total[0][0], model.unit)} of ${model.type}, and no stacks.`];
  return [`${roughPercentText(model.share(values, f, 0))} of ${model.type} is in `, link(f), "."];
}

function diffSentence(model, link) {
  const [before, after] = model.total.map((side) => side[0]);
  const growth = ratio(after - before, before);
  const words = before == 0 ? "is new" : growth > 0.0005 ? `grew by ${roughPercentText(growth)}` : growth < -0.0005 ? `shrank by ${roughPercentText(-growth)}` : "stayed the same";
  const worst = model.sorted((f) => model.measure(model.selfOf, f))[0];
  const change = worst === undefined ? 0 : model.measure(model.selfOf, worst);
  if (change < LEAST_CHANGE) return [`${model.type} ${words}; no function takes a larger share.`];
  return [`${model.type} ${words}; `, link(worst), ` takes ${pointsText(change).replace(/^\+/, "").replace("pp", "points")} more of it.`];
}

function facts(model) {
  const totals = model.total.map((side, s) => (model.isDiff ? sideNames[s] + " " : "") + valueText(side[0], model.unit));
  const parts = [`${model.isDiff ? "" : "Total "}${totals.join(", ")}`, `${exactText(model.samples)} samples`];
  if (model.cut > 0) parts.push(`${exactText(model.cut)} samples left out by focus and ignore`);
  if (model.small > 0) parts.push(`${exactText(model.small)} frames below ${model.below}${NBSP}% are left out, only their sums are shown`);
  if (model.isDiff) return parts.join(" · ") + ". Changes are of the share of the whole, in percentage points (pp).";
  return `${whyThis(model)} ${parts.join(" · ")}.`;
}

// What the first line counts.
function whyThis(model) {
  const own = largestOwn(model);
  if (own === undefined) return "None of its functions is known as your own code (--own tells which are), so this is the largest self value.";
  const self = model.share(model.selfOf, own, 0), all = model.share(model.ownOf, own, 0);
  if (self >= all * 0.995) return "All of it in the function itself.";
  if (self === 0) return "All of it in library and runtime code that it calls.";
  return `${percentText(self)} in the function itself, the rest in library and runtime code that it calls.`;
}

function largestOwn(model) {
  const own = model.sorted((f) => model.share(model.ownOf, f, 0), functions.own)[0];
  return own !== undefined && model.ownOf[0][own] > 0 ? own : undefined;
}

// A row of a list: a function, its values, a bar.
function listRow(model, {fn, values, text, bar}, whole, pick) {
  const share = ratio(values.at(-1), whole.at(-1));
  const change = model.isDiff ? ratio(values[1], model.total[1][0]) - ratio(values[0], model.total[0][0]) : 0;
  const meter = Math.min(1, Math.abs(bar === "change" ? change : share));
  const inside = [
    text ? element("span", {}, text) : element("span", {class: "name"}, shortName(functions.name(fn))),
    element("span", {class: "value"}, values.map((value) => valueText(value, model.unit)).join(" → ")),
    element("span", {class: "percent " + changeClass(change)}, model.isDiff ? pointsText(change) : percentText(share)),
    meter >= 0.005 ? element("progress", {max: 1, value: meter, "aria-hidden": "true"}) : "",
  ];
  if (text) return element("li", {}, element("div", {class: "still"}, ...inside));
  return element("li", {}, element("button", {type: "button", title: functions.name(fn), onclick: () => pick(fn)}, ...inside));
}

const MOST_NEIGHBOURS = 50;

function neighbourList(heading, rows, model, whole, pick) {
  const more = rows.length - MOST_NEIGHBOURS;
  return [
    element("h3", {}, heading),
    element("ol", {class: "rows"}, ...rows.slice(0, MOST_NEIGHBOURS).map((row) => listRow(model, row, whole, pick)),
      more > 0 ? element("li", {class: "still"}, `and ${exactText(more)} more`) : null),
  ];
}

function showPanel(model, f, pick) {
  const panel = byId("panel");
  if (f < 0) {
    panel.replaceChildren(element("h2", {}, "Callers and callees"), element("p", {class: "where"},
      "Click a frame to zoom into it and to see here who calls the function and what it calls."), ...largestList(model, pick));
    return;
  }
  const whole = model.totalOf.map((side) => side[f]);
  const self = {values: model.selfOf.map((side) => side[f]), text: "itself"};
  const callers = model.neighbours(f, true).map((row) => row.fn < 0 ? {...row, text: "nobody: stacks begin here"} : row);
  const callees = model.neighbours(f, false);
  const own = functions.own(f);
  panel.replaceChildren(
    element("h2", {class: "name"}, functions.name(f)),
    element("p", {class: "where"}, functions.where(f)),
    element("span", {class: own ? "tag own" : "tag"}, own ? "own code" : "library, runtime or kernel"),
    element("dl", {class: "figures"}, ...figure("Self", model, model.selfOf, f), ...figure("Total", model, model.totalOf, f), ...(own ? figure("Own code", model, model.ownOf, f) : [])),
    ...neighbourList("Called by", callers, model, whole, pick),
    ...neighbourList("Calls", self.values.some((value) => value != 0) ? [self, ...callees] : callees, model, whole, pick),
  );
}

// What is worth a look when nothing is chosen yet.
function largestList(model, pick) {
  const own = largestOwn(model) !== undefined;
  const values = own ? model.ownOf : model.selfOf;
  const list = model.sorted((f) => model.share(values, f, model.sides - 1), own ? functions.own : undefined).slice(0, MOST_LARGEST);
  const rows = list.map((fn) => ({fn, values: values.map((side) => side[fn])})).filter((row) => row.values.some((value) => value != 0));
  return neighbourList(own ? `Most ${model.type} in own code` : "Largest by self", rows, model, model.total.map((side) => side[0]), pick);
}

const MOST_LARGEST = 8;
const MOST_CHANGED = 5, LEAST_CHANGE = 0.0005;

function showChanges(model, pick) {
  byId("changes").hidden = !model.isDiff;
  if (!model.isDiff) return;
  for (const [id, sign] of [["worsened", 1], ["improved", -1]]) {
    const grown = (f) => sign * model.measure(model.selfOf, f);
    const list = model.sorted(grown).slice(0, MOST_CHANGED).filter((f) => grown(f) >= LEAST_CHANGE);
    const whole = model.total.map((side) => side[0]);
    byId(id).replaceChildren(...list.map((fn) => listRow(model, {fn, values: model.selfOf.map((side) => side[fn]), bar: "change"}, whole, pick)),
      list.length === 0 ? element("li", {class: "still"}, "nothing") : "");
  }
}

function showLegend(model) {
  const swatches = (names) => element("span", {class: "swatches"}, ...names.map(swatch));
  const range = (letter, from, count) => Array.from({length: count}, (_, i) => letter + (from + i));
  const items = model.isDiff
    ? [["share shrank", range("d", 0, 5), ""], ["unchanged", ["d5"], ""], ["share grew (strongest: doubled or new)", range("d", 6, 5), ""]]
    : [["own code, a colour for each package", range("c", 0, HUES)], ["libraries, runtime, kernel", range("c", HUES, HUES)], ["many frames too narrow to draw", ["c16"]]];
  const width = model.isDiff ? "Width: mean of both shares." : "Width: value of the frame with all it calls.";
  byId("legend").replaceChildren(...items.map(([text, names]) => element("span", {}, swatches(names), text)), element("span", {}, width));
}
