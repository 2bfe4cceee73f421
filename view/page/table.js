// SPDX-License-Identifier: Apache-2.0
// The table of functions: sorted by any column, filtered, a page of rows at a time.

const PAGE_ROWS = 100, CHANGE_COLUMN = 4;

class FunctionTable {
  constructor({onPick}) {
    this.onPick = onPick;
    this.order = {column: data.types[0].s.length === 2 ? CHANGE_COLUMN : 1, down: true};
    this.limit = PAGE_ROWS;
    this.head = byId("table").tHead;
    this.body = byId("table").tBodies[0];
    byId("filter").oninput = () => this.refresh();
    byId("own").onchange = () => this.refresh();
    byId("more").onclick = () => { this.limit += 4 * PAGE_ROWS; this.fill(); };
  }

  show(model, selected) {
    const changed = model !== this.model;
    Object.assign(this, {model, selected});
    if (changed) {
      this.columns = this.makeColumns();
      this.refresh();
    } else {
      this.mark();
    }
  }

  makeColumns() {
    const {model} = this;
    const values = [["Self", model.selfOf], ["Total", model.totalOf], ["Own code", model.ownOf]];
    const plain = values.map(([label, of]) => ({label, title: columnTitles[label], of, key: (f) => model.share(of, f, model.sides - 1)}));
    const change = {label: "Change of self", title: columnTitles.change, key: (f) => model.measure(model.selfOf, f)};
    return [{label: "Function"}, ...plain, ...(model.isDiff ? [change] : [])];
  }

  refresh() {
    this.limit = PAGE_ROWS;
    this.fillHead();
    this.fill();
  }

  fillHead() {
    const cells = this.columns.map(({label, title}, i) => {
      const sorted = this.order.column === i ? (this.order.down ? "descending" : "ascending") : "none";
      return element("th", {scope: "col", "aria-sort": sorted, title}, element("button", {type: "button", onclick: () => this.sortBy(i)}, label));
    });
    this.head.replaceChildren(element("tr", {}, ...cells));
  }

  sortBy(column) {
    const {order} = this;
    order.down = order.column === column ? !order.down : column !== 0;
    order.column = column;
    this.refresh();
    this.head.rows[0].cells[column].firstChild.focus();
  }

  rows() {
    const part = byId("filter").value.toLowerCase(), ownOnly = byId("own").checked;
    const keep = (f) => (!ownOnly || functions.own(f)) &&
      (part === "" || [functions.name(f), functions.file(f), functions.module(f)].some((text) => text.toLowerCase().includes(part)));
    const list = this.model.sorted(this.columns[this.order.column].key ?? (() => 0), keep);
    return this.order.down === (this.order.column !== 0) ? list : list.reverse();
  }

  fill() {
    const list = this.rows();
    this.body.replaceChildren(...list.slice(0, this.limit).map((f) => this.row(f)));
    byId("shown").textContent = `${exactText(list.length)} function${list.length === 1 ? "" : "s"}`;
    byId("more").hidden = list.length <= this.limit;
    this.mark();
  }

  row(f) {
    const {model} = this;
    const color = model.isDiff ? "d" + changeStep(model.share(model.selfOf, f, 0), model.share(model.selfOf, f, 1)) : "c" + functions.color(f);
    const name = element("button", {class: "link", type: "button", title: functions.name(f), onclick: () => this.onPick(f)}, swatch(color),
      element("div", {}, element("span", {class: "name"}, functions.name(f)), element("span", {class: "where"}, functions.where(f))));
    const row = element("tr", {}, element("td", {}, name), ...this.columns.slice(1).map((column) => this.cell(column, f)));
    row.dataset.fn = f;
    return row;
  }

  cell({of, key}, f) {
    const {model} = this;
    if (!of) return element("td", {class: changeClass(key(f))}, pointsText(key(f)));
    if (of === model.ownOf && !functions.own(f)) return element("td", {}, "");
    const share = of.map((_, side) => percentText(model.share(of, f, side))).join(" → ");
    return element("td", {title: of.map((side) => exactText(side[f])).join(" → ")}, of.map((side) => valueText(side[f], model.unit)).join(" → "), element("small", {}, share));
  }

  mark() {
    for (const row of this.body.rows) {
      if (Number(row.dataset.fn) === this.selected) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }
}

const columnTitles = {
  Self: "In the function itself",
  Total: "In the function and all it calls",
  "Own code": "Samples whose innermost frame of own code is this function: it and the library code it calls",
  change: "Points by which its share of self grew",
};
