// SPDX-License-Identifier: Apache-2.0
// The graph: a canvas as large as the window on it, drawing only frames that can be seen.

const ROW = 20, MIN_WIDTH = 0.5, PAD = 4;
const FONT_SIZE = 12;

class Graph {
  constructor({onPick}) {
    Object.assign(this, {box: byId("graph"), space: byId("space"), canvas: byId("canvas"), cursor: byId("cursor"), tip: byId("tip")});
    this.context = this.canvas.getContext("2d");
    this.onPick = onPick;
    this.focused = -1;
    this.box.addEventListener("scroll", () => { this.hideTip(); this.draw(); }, {passive: true});
    this.box.addEventListener("pointermove", (e) => this.hover(e));
    this.box.addEventListener("pointerleave", () => this.hideTip());
    this.box.addEventListener("click", (e) => this.click(e));
    this.box.addEventListener("keydown", (e) => this.key(e));
    this.box.addEventListener("blur", () => { this.cursor.hidden = true; });
    new ResizeObserver(() => this.model && (this.width !== this.box.clientWidth || this.height !== this.box.clientHeight) && this.layOut()).observe(this.box);
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const variable = (name) => style.getPropertyValue(name).trim();
    this.colors = {text: variable("--frame-text"), match: variable("--match"), page: variable("--card"), strong: variable("--text"), mono: variable("--mono")};
    this.fills = new Map();
    this.context.font = this.font = `${FONT_SIZE}px ${this.colors.mono}`;
    this.letter = this.context.measureText("mmmmmmmmmm").width / 10 || FONT_SIZE;
  }

  fill(name) {
    if (!this.fills.has(name)) {
      const probe = swatch(name);
      document.body.append(probe);
      this.fills.set(name, getComputedStyle(probe.firstChild).fill);
      probe.remove();
    }
    return this.fills.get(name);
  }

  // state: model, zoom, selected, matches, flip
  show(state) {
    const moved = this.model !== state.model || this.zoom !== state.zoom || this.flip !== state.flip;
    Object.assign(this, state);
    if (moved) this.focused = -1;
    if (!this.colors) this.readColors();
    this.layOut(moved);
  }

  layOut(moved = false) {
    this.hideTip();
    this.width = this.box.clientWidth;
    this.scale = this.width / (this.model.weight[this.zoom] || 1);
    this.rows = this.countRows();
    const height = this.rows * ROW;
    this.space.style.height = height + "px";
    this.height = this.box.clientHeight;
    const shown = Math.min(height, this.height || height);
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * dense);
    this.canvas.height = Math.round(shown * dense);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = shown + "px";
    this.shown = shown;
    this.dense = dense;
    if (moved) this.box.scrollTop = this.flip ? height : Math.max(0, (this.model.depth[this.zoom] - 3) * ROW);
    this.draw();
  }

  countRows() {
    const {depth, end, weight} = this.model;
    let deepest = depth[this.zoom];
    for (let i = this.zoom; i < end[this.zoom];) {
      if (weight[i] * this.scale < MIN_WIDTH) { i = end[i]; continue; }
      deepest = Math.max(deepest, depth[i++]);
    }
    return deepest + 1;
  }

  top(depth) { return (this.flip ? this.rows - 1 - depth : depth) * ROW; }

  // [left, width] on the canvas; what is above the zoomed frame is as wide as the graph.
  place(i) {
    const {left, weight, end} = this.model;
    if (i <= this.zoom && end[i] > this.zoom) return [0, this.width];
    return [(left[i] - left[this.zoom]) * this.scale, weight[i] * this.scale];
  }

  draw() {
    const c = this.context, {model} = this;
    c.setTransform(this.dense, 0, 0, this.dense, 0, 0);
    c.clearRect(0, 0, this.width, this.shown);
    c.translate(0, -this.box.scrollTop);
    c.font = this.font;
    c.textBaseline = "middle";
    for (let i = model.parent[this.zoom], above = this.zoom; above !== 0; above = i, i = model.parent[i]) this.drawFrame(i, true);
    this.drawInside();
    this.placeCursor();
  }

  isSeen(depth) {
    const top = this.top(depth) - this.box.scrollTop;
    return top > -ROW && top < this.shown;
  }

  drawInside() {
    const {depth, end, weight} = this.model;
    const runs = []; // by depth: neighbours too narrow to be drawn, [left, right]
    const flush = (d) => {
      if (runs[d] && runs[d][1] - runs[d][0] >= MIN_WIDTH && this.isSeen(d)) this.drawRun(d, ...runs[d]);
      runs[d] = null;
    };
    for (let i = this.zoom; i < end[this.zoom];) {
      const d = depth[i];
      if (weight[i] * this.scale < MIN_WIDTH) {
        const [left, width] = this.place(i);
        if (runs[d] && left - runs[d][1] > MIN_WIDTH) flush(d);
        runs[d] = [runs[d] ? runs[d][0] : left, left + width];
        i = end[i];
        continue;
      }
      if (this.isSeen(d)) this.drawFrame(i, false);
      i++;
    }
    for (const d of runs.keys()) flush(d);
  }

  drawRun(d, left, right) {
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.fill("c16");
    this.context.fillRect(left, this.top(d), right - left, ROW - 1);
  }

  drawFrame(i, above) {
    const d = this.model.depth[i];
    if (!this.isSeen(d)) return;
    const c = this.context, [left, width] = this.place(i), top = this.top(d), f = this.model.fn[i];
    const matched = this.matches && i !== 0 && this.matches[f];
    c.globalAlpha = this.matches && !matched ? 0.4 : above ? 0.6 : 1;
    c.fillStyle = this.fill(this.model.frameClass(i));
    c.fillRect(left, top, Math.max(width - (width > 3 ? 1 : 0), MIN_WIDTH), ROW - 1);
    if (matched) {
      c.fillStyle = this.colors.match;
      c.fillRect(left, top + ROW - 4, Math.max(width - (width > 3 ? 1 : 0), MIN_WIDTH), 3);
    }
    if (i !== 0 && f === this.selected && width > 3) {
      c.globalAlpha = 1;
      c.strokeStyle = this.colors.strong;
      c.lineWidth = 1.5;
      c.strokeRect(left + 0.75, top + 0.75, width - 2.5, ROW - 2.5);
    }
    c.globalAlpha = this.matches && !matched ? 0.75 : 1;
    this.drawName(this.model.name(i), left, top, width - 2 * PAD);
  }

  drawName(name, left, top, room) {
    const letters = Math.floor(room / this.letter);
    if (letters < 2) return;
    const fitting = name.length <= letters ? name : shortName(name);
    const text = fitting.length <= letters ? fitting : fitting.slice(0, letters - 1) + "…";
    this.context.fillStyle = this.colors.text;
    this.context.fillText(text, left + PAD, top + ROW / 2, room);
  }

  // The frame under a point of the page, -1 = none.
  at(event) {
    const {model} = this, box = this.box.getBoundingClientRect();
    const x = event.clientX - box.left, row = Math.floor((event.clientY - box.top + this.box.scrollTop) / ROW);
    const wanted = this.flip ? this.rows - 1 - row : row;
    if (wanted < 0 || wanted >= this.rows || x < 0 || x >= this.width) return -1;
    let i = this.zoom;
    while (model.depth[i] > wanted) i = model.parent[i];
    while (model.depth[i] < wanted) {
      i = this.childAt(i, x);
      if (i < 0) return -1;
    }
    return i;
  }

  childAt(i, x) {
    const {end} = this.model;
    for (let child = i + 1; child < end[i]; child = end[child]) {
      const [left, width] = this.place(child);
      if (x >= left && x < left + width) return child;
    }
    return -1;
  }

  hover(event) {
    const i = this.at(event);
    if (i < 0) return this.hideTip();
    this.placeBox(i);
    if (i !== this.tipped) this.tip.replaceChildren(...frameLines(this.model, i));
    this.tipped = i;
    this.tip.hidden = false;
    const {offsetWidth, offsetHeight} = this.tip;
    const x = Math.min(event.clientX + 14, window.innerWidth - offsetWidth - 8);
    const below = event.clientY + 18, y = below + offsetHeight < window.innerHeight ? below : event.clientY - offsetHeight - 12;
    this.tip.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
  }

  hideTip() {
    this.tip.hidden = true;
    this.tipped = -1;
    this.placeCursor();
  }

  click(event) {
    const i = this.at(event);
    if (i >= 0) this.onPick(i);
  }

  placeCursor() {
    if (this.focused >= 0 && document.activeElement === this.box) this.placeBox(this.focused);
    else this.cursor.hidden = true;
  }

  placeBox(i) {
    const [left, width] = this.place(i);
    Object.assign(this.cursor.style, {left: left + "px", top: this.top(this.model.depth[i]) + "px", width: Math.max(3, width - 1) + "px", height: ROW - 1 + "px"});
    this.cursor.hidden = false;
  }

  key(event) {
    const inward = this.flip ? "ArrowUp" : "ArrowDown", outward = this.flip ? "ArrowDown" : "ArrowUp";
    const at = this.focused < 0 ? this.zoom : this.focused;
    const moves = {
      [inward]: () => at + 1 < this.model.end[at] ? at + 1 : at,
      [outward]: () => this.model.parent[at],
      ArrowRight: () => this.sibling(at, 1),
      ArrowLeft: () => this.sibling(at, -1),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.onPick(at);
    else if (moves[event.key]) this.focus(this.focused < 0 ? at : moves[event.key]());
    else return;
    event.preventDefault();
  }

  sibling(i, step) {
    const {parent, end} = this.model;
    if (i === 0) return 0;
    if (step > 0) return end[i] < end[parent[i]] ? end[i] : i;
    let child = parent[i] + 1;
    while (child < i && end[child] < i) child = end[child];
    return child;
  }

  focus(i) {
    this.focused = i;
    const top = this.top(this.model.depth[i]);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
    this.placeBox(i);
    byId("spoken").textContent = frameSentence(this.model, i);
  }
}
