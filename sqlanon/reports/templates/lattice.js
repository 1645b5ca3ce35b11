/* The lattice on a canvas: nodes by height, filtered by the level of each column, with figures on hover and click.
   Uses nothing but the page's own data block; explore.js adds what a database answers. */
"use strict";
window.sqlanonLattice = (() => {
  const byId = (id) => document.getElementById(id);
  const holder = byId("lattice-data");
  if (!holder) return null;

  const UNKNOWN = 0, ACCEPTABLE = 1, UNACCEPTABLE = 2;
  const STATES = ["not evaluated", "acceptable", "not acceptable"];
  const EDGES = 700;
  const GAP = 10;
  const LABEL = 34;
  const canvas = byId("lattice-canvas");
  const context = canvas.getContext("2d");
  const number = new Intl.NumberFormat("en");
  let data, strides, size, state, verdicts, minimal, visible, places, shape, selected = -1, kept = -1, hovered = -1;
  let listed = 50;
  const listeners = [];

  /* -- the nodes as numbers in vector order ------------------------------------------------------------------ */

  const vector = (index) => {
    if (data.states === null) return data.evaluated[index][0];
    const levels = [];
    for (let i = 0; i < strides.length; i += 1) {
      levels.push(data.bottom[i] + Math.floor(index / strides[i]));
      index %= strides[i];
    }
    return levels;
  };
  const indexOf = (levels) => {
    if (data.states === null) return data.evaluated.findIndex((item) => item[0].join() === levels.join());
    return levels.reduce((sum, level, i) => sum + (level - data.bottom[i]) * strides[i], 0);
  };
  const height = (levels) => levels.reduce((sum, level) => sum + level, 0);
  const text = (levels) => "(" + levels.join(",") + ")";

  const load = (given) => {
    data = given;
    strides = [];
    let stride = 1;
    for (let i = data.top.length - 1; i >= 0; i -= 1) {
      strides[i] = stride;
      stride *= data.top[i] - data.bottom[i] + 1;
    }
    size = data.states === null ? data.evaluated.length : data.size;
    state = new Uint8Array(size);
    verdicts = new Map();
    if (data.states !== null) {
      let position = 0;
      for (const run of data.states.split(" ")) {
        const [times, value] = run.split("x").map(Number);
        state.fill(value, position, position + times);
        position += times;
      }
    }
    for (const item of data.evaluated) {
      const index = indexOf(item[0]);
      verdicts.set(index, item);
      state[index] = item[1] <= data.limit ? ACCEPTABLE : UNACCEPTABLE;
    }
    minimal = new Set(data.minimal.map(indexOf));
    draw();
    describe();
    list();
  };
  const chosen = () => (data.chosen === null ? -1 : indexOf(data.chosen));

  /* -- filters ------------------------------------------------------------------------------------------------ */

  const matches = () => {
    const wanted = data.columns.map((_, i) => byId("filter-" + i).value);
    const kind = byId("filter-state").value;
    const found = [];
    for (let index = 0; index < size; index += 1) {
      if (kind === "evaluated" && !verdicts.has(index)) continue;
      if (kind === "acceptable" && state[index] !== ACCEPTABLE) continue;
      if (kind === "unacceptable" && state[index] !== UNACCEPTABLE) continue;
      if (kind === "unknown" && state[index] !== UNKNOWN) continue;
      if (kind === "minimal" && !minimal.has(index) && index !== chosen()) continue;
      const levels = vector(index);
      if (wanted.every((level, i) => level === "" || levels[i] === Number(level))) found.push(index);
    }
    return found;
  };

  /* -- places of the nodes: by height, side by side, in several lines where a height has many -------------------- */

  const arrange = () => {
    visible = matches();
    const rows = new Map();
    for (const index of visible) {
      const at = height(vector(index));
      if (!rows.has(at)) rows.set(at, []);
      rows.get(at).push(index);
    }
    const width = Math.max(240, canvas.parentElement.clientWidth);
    const heights = [...rows.keys()].sort((a, b) => b - a);
    const most = Math.max(1, ...[...rows.values()].map((row) => row.length));
    const room = width - LABEL - 12;
    let cell = Math.floor(room / most);
    const edges = visible.length <= EDGES && cell >= 16;
    cell = edges ? Math.min(cell, 84) : visible.length > 4000 ? (width < 600 ? 5 : 7) : visible.length > 800 ? 9 : 14;
    const line = edges ? 58 : cell;
    const perLine = Math.max(1, Math.floor(room / cell));
    places = new Map();
    const bands = [];
    let y = GAP;
    for (const at of heights) {
      const row = rows.get(at);
      const lines = Math.ceil(row.length / perLine);
      row.forEach((index, i) => {
        const inLine = Math.floor(i / perLine) === lines - 1 ? row.length - (lines - 1) * perLine : perLine;
        const left = LABEL + (room - inLine * cell) / 2;
        places.set(index, [left + (i % perLine + 0.5) * cell, y + (Math.floor(i / perLine) + 0.5) * line]);
      });
      bands.push([at, y, lines * line, row.length]);
      y += lines * line + (edges ? 0 : GAP);
    }
    shape = { width, height: Math.max(y + GAP, 60), cell, edges, bands };
  };

  /* -- drawing -------------------------------------------------------------------------------------------------- */

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const draw = () => {
    arrange();
    const scale = window.devicePixelRatio || 1;
    canvas.width = shape.width * scale;
    canvas.height = shape.height * scale;
    canvas.style.width = shape.width + "px";
    canvas.style.height = shape.height + "px";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint();
    byId("lattice-count").textContent =
      number.format(visible.length) + " of " + number.format(data.size) + " nodes shown";
  };

  const paint = () => {
    const palette = { 0: colour("--unknown"), 1: colour("--good"), 2: colour("--bad") };
    const ink = colour("--ink"), muted = colour("--muted"), line = colour("--line"), paper = colour("--paper");
    context.clearRect(0, 0, shape.width, shape.height);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const [at, top, tall] of shape.bands) {
      context.fillStyle = muted;
      context.fillText(String(at), 6, top + tall / 2);
      if (!shape.edges) {
        context.fillStyle = line;
        context.fillRect(LABEL - 6, top - GAP / 2, shape.width - LABEL, 1);
      }
    }
    if (shape.edges) drawEdges(line);
    const radius = shape.edges ? Math.min(11, shape.cell * 0.36) : shape.cell / 2 - 1;
    for (const index of visible) drawNode(index, radius, palette, { ink, paper });
    for (const index of [kept, selected, hovered]) if (places.has(index)) ring(index, radius + 3, ink);
    if (shape.edges && shape.cell >= 64 && data.columns.length <= 6) drawNames(ink);
  };

  const drawEdges = (line) => {
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.beginPath();
    for (const index of visible) {
      const [x, y] = places.get(index);
      for (const above of successors(index)) {
        if (!places.has(above)) continue;
        const [toX, toY] = places.get(above);
        context.moveTo(x, y);
        context.lineTo(toX, toY);
      }
    }
    context.stroke();
  };

  const successors = (index) => {
    const levels = vector(index), found = [];
    for (let i = 0; i < levels.length; i += 1) {
      if (levels[i] < data.top[i]) found.push(indexOf(levels.map((level, j) => (i === j ? level + 1 : level))));
    }
    return found;
  };

  /* Evaluated nodes are filled, inherited ones paler; shape tells what colour alone should not. */
  const drawNode = (index, radius, palette, { ink, paper }) => {
    const [x, y] = places.get(index);
    const evaluated = verdicts.has(index);
    context.fillStyle = palette[state[index]];
    context.globalAlpha = evaluated || index === chosen() ? 1 : state[index] === UNKNOWN ? 0.55 : 0.38;
    context.beginPath();
    if (index === chosen()) diamond(x, y, radius + 4);
    else if (minimal.has(index)) triangle(x, y, radius + 2);
    else if (state[index] === UNACCEPTABLE) context.rect(x - radius * 0.8, y - radius * 0.8, radius * 1.6, radius * 1.6);
    else context.arc(x, y, radius, 0, 7);
    context.fill();
    context.globalAlpha = 1;
    if (index === chosen() || minimal.has(index)) {
      context.lineWidth = index === chosen() ? 2 : 1.25;
      context.strokeStyle = index === chosen() ? ink : paper;
      context.stroke();
    }
  };
  const diamond = (x, y, r) => {
    context.moveTo(x, y - r); context.lineTo(x + r, y); context.lineTo(x, y + r); context.lineTo(x - r, y);
    context.closePath();
  };
  const triangle = (x, y, r) => {
    context.moveTo(x, y - r); context.lineTo(x + r, y + r * 0.8); context.lineTo(x - r, y + r * 0.8);
    context.closePath();
  };
  const ring = (index, radius, ink) => {
    const [x, y] = places.get(index);
    context.beginPath();
    context.arc(x, y, radius + 1, 0, 7);
    context.lineWidth = 2;
    context.strokeStyle = ink;
    context.stroke();
  };
  const drawNames = (ink) => {
    context.fillStyle = ink;
    context.textAlign = "center";
    for (const index of visible) {
      const [x, y] = places.get(index);
      context.fillText(vector(index).join(""), x, y + 20);
    }
  };

  /* -- what is known of a node ------------------------------------------------------------------------------------ */

  const covers = (upper, lower) => upper.every((level, i) => level >= lower[i]);
  const witness = (index) => {
    const levels = vector(index);
    for (const [other, item] of verdicts) {
      if (other === index) continue;
      if (state[index] === ACCEPTABLE && item[1] <= data.limit && covers(levels, item[0])) return item[0];
      if (state[index] === UNACCEPTABLE && item[1] > data.limit && covers(item[0], levels)) return item[0];
    }
    return null;
  };

  const facts = (index) => {
    const levels = vector(index), item = verdicts.get(index);
    const found = [["levels", text(levels)], ["height", String(height(levels))]];
    let verdict = STATES[state[index]];
    if (index === chosen()) verdict += ", chosen";
    if (minimal.has(index)) verdict += ", minimal";
    found.push(["state", verdict]);
    if (item) {
      found.push(["suppressed", number.format(item[1]) + " of " + number.format(data.rows) + " rows (limit " + number.format(data.limit) + ")"]);
      found.push(["classes", number.format(item[2])]);
      if (item[3] !== null) found.push([data.metric, String(Number(item[3].toPrecision(6)))]);
    } else if (state[index] !== UNKNOWN) {
      const seen = witness(index);
      if (seen) found.push(["known from", (state[index] === ACCEPTABLE ? "it generalizes " : "it lies below ") + text(seen)]);
    }
    const price = asks(index);
    if (price) found.push(["asking", price.text]);
    data.columns.forEach((name, i) => {
      const words = data.levels[i], label = data.examples && data.examples[i][levels[i]];
      const place = "level " + levels[i] + " of " + data.heights[i];
      found.push([name, (words ? words[levels[i]] + " (" + place + ")" : place) + (label ? ", like " + label : "")]);
    });
    return found;
  };

  /* What the question of a node costs, where a database answers: rows of the smallest set below it, and the time that
     reading so many took until now. */
  const asks = (index) => {
    if (!data.cost || verdicts.has(index)) return null;
    const levels = vector(index);
    const rows = Math.min(...data.cost.sets.filter(([below]) => covers(levels, below)).map(([, many]) => many));
    const seconds = data.cost.seconds === null ? null : data.cost.seconds + rows * data.cost.seconds_per_row;
    const time = seconds === null ? "" : ", about " + (seconds < 1 ? Math.max(1, Math.round(seconds * 1000)) + " ms" : seconds.toPrecision(2) + " s");
    return { rows, seconds, text: "reads " + number.format(rows) + " combinations" + time };
  };

  const element = (name, content, more = {}) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    for (const [key, value] of Object.entries(more)) made.setAttribute(key, value);
    return made;
  };

  const describe = () => {
    const panel = byId("lattice-details");
    panel.replaceChildren();
    byId("lattice-keep").disabled = selected < 0;
    if (selected < 0 || selected >= size) {
      panel.append(element("p", "Choose a node: click it, or move with the arrow keys."));
      return;
    }
    const sides = kept >= 0 && kept !== selected && kept < size ? [kept, selected] : [selected];
    const table = element("table"), head = element("tr"), body = element("tbody"), top = element("thead");
    const caption = sides.length > 1 ? "Two nodes compared" : "The selected node";
    table.append(element("caption", caption), top, body);
    head.append(element("td"));
    sides.forEach((index) => head.append(element("th", text(vector(index)), { scope: "col" })));
    top.append(head);
    const columns = sides.map(facts);
    const names = [...new Set(columns.flat().map(([name]) => name))].filter((name) => name !== "levels");
    for (const name of names) {
      const values = columns.map((side) => (side.find((fact) => fact[0] === name) || ["", "–"])[1]);
      const row = element("tr");
      if (values.length > 1 && values[0] !== values[1]) row.className = "differs";
      row.append(element("th", name, { scope: "row" }), ...values.map((value) => element("td", value)));
      body.append(row);
    }
    panel.append(table);
  };

  /* -- the same nodes as a table ------------------------------------------------------------------------------------ */

  const list = () => {
    const body = byId("lattice-rows");
    body.replaceChildren();
    const order = (index) => (index === chosen() ? 0 : minimal.has(index) ? 1 : verdicts.has(index) ? 2 : 3);
    const rows = [...visible].sort((a, b) => order(a) - order(b) || height(vector(a)) - height(vector(b)) || a - b);
    for (const index of rows.slice(0, listed)) {
      const item = verdicts.get(index), row = element("tr"), levels = vector(index);
      const pick = element("button", text(levels), { type: "button" });
      pick.addEventListener("click", () => select(index));
      const cell = element("th", undefined, { scope: "row" });
      cell.append(pick);
      const marks = [STATES[state[index]]];
      if (index === chosen()) marks.push("chosen");
      if (minimal.has(index)) marks.push("minimal");
      row.append(cell, element("td", String(height(levels))), element("td", marks.join(", ")));
      row.append(element("td", item ? number.format(item[1]) : "–"), element("td", item ? number.format(item[2]) : "–"));
      row.append(element("td", item && item[3] !== null ? String(Number(item[3].toPrecision(6))) : "–"));
      body.append(row);
    }
    byId("lattice-more").hidden = rows.length <= listed;
    byId("lattice-listed").textContent =
      number.format(Math.min(rows.length, listed)) + " of " + number.format(rows.length) + " nodes listed";
  };

  /* -- pointer and keys ----------------------------------------------------------------------------------------------- */

  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = Math.max(12, shape.cell * 0.75) ** 2;
    for (const [index, [left, top]] of places) {
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < least) { best = index; least = distance; }
    }
    return best;
  };

  const select = (index) => {
    selected = index;
    paint();
    describe();
    if (index >= 0) listeners.forEach((listener) => listener(vector(index), verdicts.get(index), asks(index)));
  };

  const tip = byId("lattice-tip");
  canvas.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (index !== hovered) { hovered = index; paint(); }
    tip.hidden = index < 0;
    if (index < 0) return;
    const item = verdicts.get(index);
    tip.textContent = text(vector(index)) + " " + STATES[state[index]] +
      (item ? ", " + number.format(item[1]) + " suppressed, " + number.format(item[2]) + " classes" : asks(index) ? "; a click " + asks(index).text : "");
    const box = canvas.parentElement.getBoundingClientRect();
    tip.style.left = Math.max(0, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = event.clientY - box.top + 16 + "px";
  });
  canvas.addEventListener("pointerleave", () => { hovered = -1; tip.hidden = true; paint(); });
  canvas.addEventListener("click", (event) => select(nearest(event)));

  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Escape") { kept = -1; select(-1); return; }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); keep(); return; }
    if (!(event.key in steps) || !visible.length) return;
    event.preventDefault();
    if (!places.has(selected)) { select(places.has(chosen()) ? chosen() : visible[0]); return; }
    const [dx, dy] = steps[event.key], [x, y] = places.get(selected);
    let best = -1, least = Infinity;
    for (const [index, [left, top]] of places) {
      const along = (left - x) * dx + (top - y) * dy;
      const aside = Math.abs((left - x) * dy) + Math.abs((top - y) * dx);
      if (along <= 0.5) continue;
      const cost = along + 3 * aside;
      if (cost < least) { best = index; least = cost; }
    }
    if (best >= 0) select(best);
  });

  const keep = () => { kept = kept === selected ? -1 : selected; paint(); describe(); };
  const refresh = () => { listed = 50; draw(); list(); };
  byId("lattice-keep").addEventListener("click", keep);
  byId("lattice-more").addEventListener("click", () => { listed += 200; list(); });
  byId("lattice-reset").addEventListener("click", () => {
    document.querySelectorAll("#lattice-filters select").forEach((choice) => { choice.value = ""; });
    refresh();
  });
  document.querySelectorAll("#lattice-filters select").forEach((choice) => choice.addEventListener("change", refresh));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
  window.addEventListener("beforeprint", () => draw());
  new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== shape.width) draw(); }).observe(canvas.parentElement);

  load(JSON.parse(holder.textContent));
  const start = () => { if (chosen() >= 0) select(chosen()); };
  return { load, start, select: (levels) => select(indexOf(levels)), onSelect: (listener) => listeners.push(listener),
    position: (levels) => places.get(indexOf(levels)), selected: () => (selected < 0 ? null : vector(selected)) };
})();
