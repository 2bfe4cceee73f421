// SPDX-License-Identifier: Apache-2.0
// The data of the page (view/flame_data.h has the other end) and everything that is counted with them. No elements here.

const HUES = 8; // colour classes of own code come first
const STEPS = 11;
const data = JSON.parse(byId("data").textContent);
const functions = {
  count: data.functions.length / 4,
  name: (f) => data.strings[data.functions[4 * f]],
  file: (f) => data.strings[data.functions[4 * f + 1]],
  module: (f) => data.strings[data.functions[4 * f + 2]],
  color: (f) => data.functions[4 * f + 3],
  own: (f) => data.functions[4 * f + 3] < HUES,
  where: (f) => [functions.file(f), functions.module(f)].filter(Boolean).join(" · "),
};

// Pairs of how many zeros and what follows them, put into a list of zeros.
function spread(pairs, list, convert) {
  for (let k = 0, at = 0; k < pairs.length; k += 2) {
    at += pairs[k];
    list[at++] = convert(pairs[k + 1]);
  }
  return list;
}

// -> 0 (gone) .. 10 (doubled or new), as flame_step of view/flame_color.c.
function changeStep(before, after) {
  const larger = Math.max(before, after);
  const change = larger > 0 ? Math.max(-1, Math.min(1, (after - before) / larger * 2)) : 0;
  return Math.floor((change + 1) * ((STEPS - 1) / 2) + 0.5);
}

// One sample type. Frames are numbers in preorder: 0 is everything, and [i, end[i]) is what i called.
class Model {
  constructor(index) {
    const from = data.types[index];
    Object.assign(this, {type: from.type, unit: from.unit, samples: from.samples, cut: from.cut, sides: from.s.length,
      small: from.small ?? 0, below: from.below});
    this.count = from.f.length;
    this.fn = new Int32Array(from.f);
    this.zero = from.wide ? 0n : 0;
    this.self = from.s.map((side) => from.wide
      ? spread(side, new Array(this.count).fill(0n), BigInt) : spread(side, new Float64Array(this.count), Number));
    this.findParents(spread(from.u, new Int32Array(this.count), Number));
    this.total = this.self.map((side) => this.sumUp(side.slice()));
    this.layOut();
    this.countFunctions();
  }

  get isDiff() { return this.sides === 2; }

  findParents(ups) {
    const path = [];
    this.depth = new Int32Array(this.count);
    this.parent = new Int32Array(this.count);
    this.end = new Int32Array(this.count);
    for (let i = 1; i < this.count; i++) {
      this.depth[i] = this.depth[i - 1] + 1 - ups[i];
      path[this.depth[i - 1]] = i - 1;
      this.parent[i] = path[this.depth[i] - 1];
    }
    for (let i = this.count - 1; i >= 0; i--) {
      if (this.end[i] === 0) this.end[i] = i + 1; // calls nothing
      if (this.end[this.parent[i]] < this.end[i]) this.end[this.parent[i]] = this.end[i];
    }
  }

  sumUp(values) {
    for (let i = this.count - 1; i > 0; i--) values[this.parent[i]] += values[i];
    return values;
  }

  // Widths from 0 to 1 as view/flame_layout.c has them: absolute values; of two sides, shares.
  layOut() {
    const weight = new Float64Array(this.count);
    for (const side of this.self) {
      let sum = 0;
      for (let i = 0; i < this.count; i++) sum += Math.abs(Number(side[i]));
      for (let i = 0; sum > 0 && i < this.count; i++) weight[i] += Math.abs(Number(side[i])) / sum / this.sides;
    }
    this.weight = this.sumUp(weight);
    this.left = new Float64Array(this.count);
    const next = new Float64Array(this.count);
    for (let i = 1; i < this.count; i++) {
      const parent = this.parent[i];
      next[i] = this.left[i] = next[parent];
      next[parent] += weight[i];
    }
  }

  // By function and side: self; total, once for each sample; own, what belongs to its innermost frame of own code.
  countFunctions() {
    const table = () => this.self.map(() => new Array(functions.count).fill(this.zero));
    this.selfOf = table();
    this.totalOf = table();
    this.ownOf = table();
    this.used = new Uint8Array(functions.count);
    const innermost = new Int32Array(this.count).fill(-1);
    const counted = new Int32Array(functions.count);
    for (let i = 1; i < this.count; i++) {
      const f = this.fn[i];
      this.used[f] = 1;
      innermost[i] = functions.own(f) ? f : innermost[this.parent[i]];
      for (let side = 0; side < this.sides; side++) {
        this.selfOf[side][f] += this.self[side][i];
        if (i >= counted[f]) this.totalOf[side][f] += this.total[side][i];
        if (innermost[i] >= 0) this.ownOf[side][innermost[i]] += this.self[side][i];
      }
      if (i >= counted[f]) counted[f] = this.end[i];
    }
  }

  name(i) { return i === 0 ? "all" : functions.name(this.fn[i]); }

  share(values, key, side) { return ratio(values[side][key], this.total[side][0]); }

  // Of two sides, how much the share grew; of one, the share.
  measure(values, key) {
    return this.isDiff ? this.share(values, key, 1) - this.share(values, key, 0) : this.share(values, key, 0);
  }

  frameClass(i) {
    if (this.isDiff) return "d" + changeStep(this.share(this.total, i, 0), this.share(this.total, i, 1));
    return i === 0 ? "c16" : "c" + functions.color(this.fn[i]);
  }

  // The sum over samples that have a matching frame, each once.
  sumOf(matches) {
    const sums = this.self.map(() => this.zero);
    for (let i = 1; i < this.count;) {
      if (!matches[this.fn[i]]) { i++; continue; }
      sums.forEach((_, side) => { sums[side] += this.total[side][i]; });
      i = this.end[i];
    }
    return sums;
  }

  // What called f, or what f called: [{fn, values}]; fn -1 = nobody, the stack begins with f.
  neighbours(f, callers) {
    const found = new Map();
    const add = (other, i) => {
      const entry = found.get(other) ?? {fn: other, values: this.self.map(() => this.zero), counted: 0};
      found.set(other, entry);
      if (i < entry.counted) return; // a recursion: the same samples
      entry.counted = this.end[i];
      entry.values.forEach((_, side) => { entry.values[side] += this.total[side][i]; });
    };
    for (let i = 1; i < this.count; i++) {
      const parent = this.parent[i];
      if (callers && this.fn[i] === f) add(parent === 0 ? -1 : this.fn[parent], i);
      else if (!callers && parent !== 0 && this.fn[parent] === f) add(this.fn[i], i);
    }
    const size = ({values}) => values.reduce((sum, value) => sum + Math.abs(Number(value)), 0);
    return [...found.values()].sort((a, b) => size(b) - size(a));
  }

  // The functions used here, the largest by `key` first; equals by name.
  sorted(key, keep = () => true) {
    const list = [], keys = new Float64Array(functions.count);
    for (let f = 0; f < functions.count; f++) {
      if (!this.used[f] || !keep(f)) continue;
      keys[f] = key(f);
      list.push(f);
    }
    return list.sort((a, b) => keys[b] - keys[a] || (functions.name(a) < functions.name(b) ? -1 : 1));
  }
}

const models = [];
function modelOf(index) {
  return models[index] ??= new Model(index);
}

// Which functions a query matches: part of the name in any case, or /regular expression/. null = nothing is asked.
function matchesOf(query) {
  if (query === "" || query === "/") return null;
  const test = nameTest(query);
  return Uint8Array.from({length: functions.count}, (_, f) => test(functions.name(f)) ? 1 : 0);
}

function nameTest(query) {
  const expression = /^\/(.+)\/$/.exec(query);
  if (expression) {
    try {
      const compiled = new RegExp(expression[1], "iu");
      return (name) => compiled.test(name);
    } catch { /* not finished yet: taken as it stands */ }
  }
  const part = query.toLowerCase();
  return (name) => name.toLowerCase().includes(part);
}
