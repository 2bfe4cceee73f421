// SPDX-License-Identifier: Apache-2.0
// Numbers and words for people, and the few helpers for elements. Texts of a profile only ever become textContent.

const NBSP = "\u00a0";
// Name, size, and up to how many of it are written with it: as value_text of view/value_text.c.
const SCALES = {
  time: [["ns", 1, 999.5], ["µs", 1e3, 999.5], ["ms", 1e6, 999.5], ["s", 1e9, 120], ["min", 60e9, 120], ["h", 3600e9, Infinity]],
  bytes: [["B", 1, 1024], ["KiB", 2 ** 10, 1023.5], ["MiB", 2 ** 20, 1023.5], ["GiB", 2 ** 30, 1023.5], ["TiB", 2 ** 40, 1023.5],
    ["PiB", 2 ** 50, 1023.5], ["EiB", 2 ** 60, Infinity]],
  count: [["", 1, 1e6], ["million", 1e6, 1000], ["billion", 1e9, 1000], ["trillion", 1e12, Infinity]],
};
// A unit as profiles name it -> its scale and how many of the scale's first it is.
const UNITS = {
  nanoseconds: ["time", 1], nanosecond: ["time", 1], ns: ["time", 1],
  microseconds: ["time", 1e3], microsecond: ["time", 1e3], us: ["time", 1e3],
  milliseconds: ["time", 1e6], millisecond: ["time", 1e6], ms: ["time", 1e6],
  seconds: ["time", 1e9], second: ["time", 1e9], s: ["time", 1e9],
  bytes: ["bytes", 1], byte: ["bytes", 1], By: ["bytes", 1], B: ["bytes", 1],
};

function exactText(value) {
  return String(value).replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function valueText(value, unit) {
  const [kind, factor] = Object.hasOwn(UNITS, unit) ? UNITS[unit] : ["count", 1];
  const size = Math.abs(Number(value)) * factor;
  const [name, step] = SCALES[kind].find(([, from, below]) => size / from < below);
  if (size === 0 || step === 1 && factor === 1) return exactText(value) + (size !== 0 && name ? NBSP + name : "");
  const scaled = size / step, digits = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return (value < 0 ? "\u2212" : "") + scaled.toFixed(digits) + NBSP + name;
}

function ratio(part, whole) {
  return whole == 0 ? 0 : Number(part) / Math.abs(Number(whole));
}

function percentText(share) {
  const percent = share * 100;
  if (percent !== 0 && Math.abs(percent) < 0.01) return "<" + NBSP + "0.01" + NBSP + "%";
  return percent.toFixed(Math.abs(percent) >= 99.95 ? 0 : Math.abs(percent) < 1 ? 2 : 1) + NBSP + "%";
}

// For a sentence: "42 %", "4.2 %".
function roughPercentText(share) {
  return Math.abs(share) >= 0.0995 ? Math.round(share * 100) + NBSP + "%" : percentText(share);
}

// Without the folders before it: "storage.(*Tree).put" of "example.com/pkg/storage.(*Tree).put".
function shortName(name) {
  return name.replace(/^[^ (<[]*\//, "");
}

function signed(text, value) {
  return value > 0 ? "+" + text : text.replace("-", "\u2212");
}

// Percentage points of a change of share.
function pointsText(change) {
  const points = change * 100;
  return signed(points.toFixed(Math.abs(points) < 1 ? 2 : 1), points) + NBSP + "pp";
}

const changeClass = (change) => change > 0 ? "worse" : change < 0 ? "better" : "";

const byId = (id) => document.getElementById(id);

// element("li", {class: "x", onclick: f}, "text", child ...)
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made[key] = value;
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// A square in the colours of frames.
function swatch(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const rect = document.createElementNS(space, "rect");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.setAttribute("aria-hidden", "true");
  for (const [key, value] of Object.entries({class: name, width: 12, height: 12, rx: 2})) rect.setAttribute(key, value);
  svg.append(rect);
  return svg;
}
