// SPDX-License-Identifier: Apache-2.0
// Draws the raw samples. The page is complete without it, but for the samples.
(function () {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  const $ = (id) => document.getElementById(id);
  const PAD = { left: 62, right: 12, top: 24, bottom: 34 };

  if (!$("x-data")) return;
  const cells = JSON.parse($("x-data").textContent);
  const plot = $("x-plot");
  const state = { rows: [], row: 0, place: 0, x: null, y: null };
  $("explorer").hidden = false;
  cells.forEach((cell, i) => $("x-cell").add(new Option(cell.t, i)));

  const chosen = () => cells[Number($("x-cell").value)];
  const ecdf = () => $("x-view").value === "ecdf";

  function time(ns) {
    const steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const step = steps.find((s) => ns >= s[0]) || steps[3];
    return Number((ns / step[0]).toPrecision(4)) + " " + step[1];
  }

  function make(name, attributes, text) {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function fillPhases() {
    const before = $("x-phase").value;
    const names = [...new Set(chosen().s.map((s) => s.p))];
    $("x-phase").replaceChildren(...names.map((n) => new Option(n, n)));
    $("x-phase").value = names.includes(before) ? before : names.includes("steady") ? "steady" : names[0];
  }

  // Points of one series: [x, nanoseconds]; x is the sample's index, or the share of samples up to it.
  function points(series) {
    if (ecdf()) {
      const sorted = series.q || series.v.slice().sort((a, b) => a - b);
      const last = sorted.length - 1;
      return sorted.map((v, i) => [series.q ? (last ? i / last : 1) : (i + 1) / sorted.length, v]);
    }
    const stretch = series.n / series.v.length;
    return series.v.map((v, i) => [Math.floor(i * stretch), v]);
  }

  function scale(low, high, start, end, log) {
    const f = log ? Math.log : (v) => v;
    const span = f(high) - f(low) || 1;
    return (v) => start + ((f(v) - f(low)) / span) * (end - start);
  }

  function ticks(low, high, log) {
    if (log && high / low >= 8) {
      const found = [];
      for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++) {
        for (const m of high / low > 300 ? [1] : [1, 2, 5]) {
          const v = m * Math.pow(10, p);
          if (v >= low && v <= high) found.push(v);
        }
      }
      return found;
    }
    const rough = (high - low) / 5 || 1;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(v);
    return found;
  }

  function frame(svg, box, ends) {
    const log = $("x-scale").value === "log";
    for (const v of ticks(ends.low, ends.high, log)) {
      const at = ecdf() ? state.x(v) : state.y(v);
      const line = ecdf() ? { x1: at, x2: at, y1: PAD.top, y2: box.bottom } : { x1: PAD.left, x2: box.right, y1: at, y2: at };
      svg.append(make("line", { class: "grid", ...line }));
      const label = ecdf() ? { x: at, y: box.bottom + 16, "text-anchor": "middle" } : { x: PAD.left - 6, y: at + 4, "text-anchor": "end" };
      svg.append(make("text", { class: "tick", ...label }, time(v)));
    }
    const side = ecdf() ? [0, 0.25, 0.5, 0.75, 1] : ticks(0, ends.count - 1 || 1, false).filter((v) => v % 1 === 0);
    for (const v of side) {
      const label = ecdf() ? { x: PAD.left - 6, y: state.y(v) + 4, "text-anchor": "end" } : { x: state.x(v), y: box.bottom + 16, "text-anchor": "middle" };
      svg.append(make("text", { class: "tick", ...label }, ecdf() ? v * 100 + " %" : v));
    }
    svg.append(make("text", { class: "axis-title", x: box.right, y: box.bottom + 31, "text-anchor": "end" }, ecdf() ? "time of a sample" : "index of the sample"));
    svg.append(make("text", { class: "axis-title", x: 0, y: 12 }, ecdf() ? "share of samples" : "time of a sample"));
  }

  function draw() {
    state.rows = chosen().s.filter((s) => s.p === $("x-phase").value).map((s) => ({ s, at: points(s) }));
    state.row = Math.min(state.row, state.rows.length - 1);
    const all = state.rows.flatMap((r) => r.at.map((p) => p[1]));
    const log = $("x-scale").value === "log";
    const low = Math.max(log ? 1 : 0, Math.min(...all) * (log ? 0.97 : 0.98));
    const ends = { low, high: Math.max(Math.max(...all) * 1.03, low + 1), count: Math.max(...state.rows.map((r) => r.s.n)) };
    const box = { right: plot.clientWidth - PAD.right, bottom: plot.clientHeight - PAD.bottom };
    const duration = (start, end) => scale(ends.low, ends.high, start, end, log);
    state.x = ecdf() ? duration(PAD.left, box.right) : scale(0, Math.max(1, ends.count - 1), PAD.left + 6, box.right, false);
    state.y = ecdf() ? scale(0, 1, box.bottom, PAD.top, false) : duration(box.bottom, PAD.top);
    const svg = make("svg", { role: "img", "aria-label": "Samples of " + chosen().t });
    frame(svg, box, ends);
    const order = state.rows.map((r, i) => i).sort((a, b) => (a === state.row) - (b === state.row));
    for (const i of order) series(svg, state.rows[i], i === state.row);
    state.cursor = make("circle", { class: "cursor", r: 6, cx: -99, cy: -99 });
    svg.append(state.cursor);
    state.tip = document.createElement("div");
    state.tip.className = "tip";
    state.tip.hidden = true;
    plot.replaceChildren(svg, state.tip);
    point(false);
  }

  const screen = (p) => (ecdf() ? [state.x(p[1]), state.y(p[0])] : [state.x(p[0]), state.y(p[1])]);

  function series(svg, row, on) {
    const at = row.at.map(screen);
    const few = at.length <= 40;
    svg.append(make("path", { class: on ? "samples on" : "samples", d: "M" + at.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L") }));
    if (few) for (const p of at) svg.append(make("circle", { class: on ? "speck on" : "speck", r: 3, cx: p[0], cy: p[1] }));
  }

  // Moves the cursor to the current sample and reads it out.
  function point(tip) {
    const row = state.rows[state.row];
    state.place = Math.max(0, Math.min(state.place, row.at.length - 1));
    const p = row.at[state.place];
    const [x, y] = screen(p);
    state.cursor.setAttribute("cx", x);
    state.cursor.setAttribute("cy", y);
    const where = ecdf() ? (p[0] * 100).toFixed(1) + " % of the samples take at most this" : "sample " + p[0] + " of " + row.s.n;
    const each = row.s.k > 1 ? ", a batch of " + row.s.k + " operations: " + time(p[1] / row.s.k) + " each" : "";
    const thin = !ecdf() && row.s.v.length < row.s.n ? "; thinned to the extremes of each stretch" : "";
    $("x-read").textContent = time(p[1]) + each + "; " + where + ", launch " + row.s.l + ", rank " + row.s.r + thin;
    state.tip.hidden = !tip;
    state.tip.textContent = time(p[1]) + ", launch " + row.s.l;
    const left = Math.min(x + 10, plot.clientWidth - state.tip.offsetWidth - 2);
    state.tip.style.left = Math.max(0, left) + "px";
    state.tip.style.top = Math.max(0, y - 32) + "px";
  }

  plot.addEventListener("keydown", (event) => {
    const row = state.rows[state.row];
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 };
    const rows = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) state.place = Math.max(0, Math.min(row.at.length - 1, state.place + steps[event.key]));
    else if (event.key in rows) state.row = (state.row + rows[event.key] + state.rows.length) % state.rows.length;
    else return;
    event.preventDefault();
    if (event.key in rows) draw();
    point(true);
  });

  plot.addEventListener("pointermove", (event) => {
    const bounds = plot.getBoundingClientRect();
    const at = [event.clientX - bounds.left, event.clientY - bounds.top];
    let best = [Infinity, 0, 0];
    state.rows.forEach((row, i) => row.at.forEach((p, j) => {
      const [x, y] = screen(p);
      const far = (x - at[0]) ** 2 + (y - at[1]) ** 2;
      if (far < best[0]) best = [far, i, j];
    }));
    const other = best[1] !== state.row;
    [, state.row, state.place] = best;
    if (other) draw();
    point(true);
  });
  plot.addEventListener("pointerleave", () => { state.tip.hidden = true; });
  $("x-cell").addEventListener("change", () => { state.row = state.place = 0; fillPhases(); draw(); });
  for (const id of ["x-phase", "x-view", "x-scale"]) $(id).addEventListener("change", () => { state.place = 0; draw(); });
  new ResizeObserver(draw).observe(plot);
  fillPhases();
  draw();
})();
