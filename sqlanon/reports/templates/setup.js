/* The set-up tab: roles, hierarchies by drag and drop, k and limit of the spec, measured as they change. What is wanted
   lies in this page until it is written; groups are told by the server, so that rare values never come here. */
(() => {
  const byId = (id) => document.getElementById(id);
  const lattice = window.sqlanonLattice;
  const tabs = ["lattice", "setup"];
  const number = new Intl.NumberFormat("en");
  const WAIT = 500;
  let spec = null, column = null, board = null, taken = null, target = -1, done = [], timer = null, asking = 0, began = null;
  let added = [];
  const wanted = { columns: {}, k: "", limit: "" };

  const show = (name) => {
    for (const tab of tabs) {
      byId("tab-" + tab).setAttribute("aria-selected", String(tab === name));
      byId("tab-" + tab).tabIndex = tab === name ? 0 : -1;
      byId("panel-" + tab).hidden = tab !== name;
    }
    location.hash = name === "setup" ? "set-up" : "";
    if (name === "setup" && !spec && byId("setup-columns")) load();
  };
  tabs.forEach((tab, i) => {
    byId("tab-" + tab).addEventListener("click", () => show(tab));
    byId("tab-" + tab).addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      event.preventDefault();
      const other = tabs[1 - i];
      show(other);
      byId("tab-" + other).focus();
    });
  });
  if (!byId("setup-columns")) return;

  const say = (text) => { byId("setup-status").textContent = text; };
  const announce = (text) => { byId("setup-said").textContent = text; };
  const made = (name, content, more = {}) => {
    const found = document.createElement(name);
    if (content !== undefined) found.textContent = content;
    for (const [key, value] of Object.entries(more)) found.setAttribute(key, value);
    return found;
  };

  const ask = async (question, content) => {
    try {
      const answer = await fetch(question, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
      });
      const found = await answer.json();
      return answer.ok ? found : { failed: found.error };
    } catch {
      return { failed: "sqlanon does not answer any more: start it again." };
    }
  };

  /* -- what is wanted: every change keeps what stood before it, for Undo ------------------------------------------- */

  const of = (name) => (wanted.columns[name] = wanted.columns[name] || {});
  const remember = () => {
    done.push(JSON.stringify(wanted));
    byId("setup-undo").disabled = false;
  };
  byId("setup-undo").addEventListener("click", async () => {
    Object.assign(wanted, { columns: {}, k: "", limit: "" }, JSON.parse(done.pop()));
    byId("setup-undo").disabled = !done.length;
    added = [];
    list();
    if (column) await group();
    changed();
  });

  const changed = () => {
    clearTimeout(timer);
    byId("setup-save").disabled = true;
    say("");
    timer = setTimeout(measure, WAIT);
  };
  const cost = (read) => {
    const pace = spec.paces[read ? "read" : "kept"];
    return pace === undefined ? "" : ", about " + seconds(pace);
  };
  const seconds = (value) => (value < 1 ? Math.max(1, Math.round(value * 1000)) + " ms" : value.toPrecision(2) + " s");

  const measure = async () => {
    const mine = (asking += 1);
    const reads = spec.columns.some((item) => isOne(item.role) !== isOne(role(item)));
    byId("setup-loss").textContent = "Measuring" + (reads ? ": the source is read again" : "") + cost(reads) + " …";
    const found = await ask("measure", wanted);
    if (mine !== asking) return;
    const panel = byId("setup-found");
    panel.replaceChildren();
    byId("setup-allow-label").hidden = !Object.values(wanted.columns).some((item) => (item.groups || []).length);
    if (found.failed) { byId("setup-loss").textContent = found.failed; return; }
    spec.paces[found.read ? "read" : "kept"] = found.seconds;
    byId("setup-cost").textContent = "Measured in " + seconds(found.seconds) +
      (found.read ? "; the source was read." : "; the source was not read again.");
    if (found.message) { byId("setup-loss").textContent = found.message; return; }
    const score = found.score.toPrecision(4);
    if (began === null) began = found;
    const before = found.metric === began.metric ? ", before the changes " + began.score.toPrecision(4) : "";
    byId("setup-loss").textContent = found.metric + " " + score + (found.changes.length ? before : "") + "; " +
      number.format(found.suppressed) + " of " + number.format(found.rows) + " rows suppressed (limit " +
      number.format(found.limit) + "), " + number.format(found.classes) + " classes" +
      (found.proven ? "" : "; a longer search may find a better one");
    const details = made("details"), words = made("ul");
    details.append(made("summary", "Released as, and what would be written"));
    for (const [name, level, what] of found.levels) words.append(made("li", name + ": " + what + " (level " + level + ")"));
    details.append(words);
    if (found.changes.length) details.append(made("pre", found.changes.join("\n"), { tabindex: "0" }));
    panel.append(details);
    byId("setup-save").disabled = !found.changes.length;
  };
  const isOne = (name) => (name === "quasi_identifier" ? 1 : name === "sensitive" ? 2 : 0);

  byId("setup-requirement").addEventListener("submit", (event) => {
    event.preventDefault();
    remember();
    wanted.k = byId("setup-k").value.trim();
    wanted.limit = byId("setup-limit").value.trim();
    changed();
  });

  byId("setup-save").addEventListener("click", async () => {
    byId("setup-save").disabled = true;
    say("Writing …");
    const found = await ask("write", { ...wanted, names_values: byId("setup-allow").checked });
    byId("setup-save").disabled = false;
    if (found.failed) { say(found.failed); return; }
    sessionStorage.setItem("sqlanon-said", "Wrote " + found.spec + ".");
    location.reload();
  });

  /* -- the columns --------------------------------------------------------------------------------------------------- */

  const role = (item) => (wanted.columns[item.name] || {}).role || item.role;
  const load = async () => {
    say("The source is read once more for the evidence …");
    const found = await ask("setup", {});
    if (found.failed) { say(found.failed); return; }
    spec = { ...found, paces: {} };
    wanted.k = found.k === null ? "" : String(found.k);
    wanted.limit = found.limit;
    byId("setup-k").disabled = found.k === null;
    const said = sessionStorage.getItem("sqlanon-said");
    sessionStorage.removeItem("sqlanon-said");
    say(said || "");
    list();
    measure();
  };

  const list = () => {
    byId("setup-k").value = wanted.k;
    byId("setup-limit").value = wanted.limit;
    const body = byId("setup-columns");
    body.replaceChildren();
    for (const item of spec.columns) {
      const row = made("tr"), cell = made("td"), last = made("td");
      const choice = made("select", undefined, { "aria-label": "role of " + item.name });
      for (const name of spec.roles) choice.append(made("option", name));
      choice.value = role(item);
      choice.disabled = item.by_hand !== "";
      choice.addEventListener("change", () => {
        remember();
        of(item.name).role = choice.value;
        if (choice.value === "quasi_identifier" && !item.hierarchy && !item.tree) of(item.name).hierarchy = item.proposed;
        if (choice.value !== "quasi_identifier") { delete of(item.name).hierarchy; delete of(item.name).groups; }
        if (column === item.name) byId("setup-editor").hidden = true;
        list();
        changed();
      });
      cell.append(choice);
      const facts = item.kind + ", " + number.format(item.distinct) + " distinct" +
        (item.nulls ? ", " + number.format(item.nulls) + " NULL" : "");
      const evidence = item.by_hand ? "its " + item.by_hand + " is changed in the file" : item.reason;
      const told = made("td", facts);
      told.append(made("br"), made("span", evidence, { class: "share" }));
      if (role(item) === "quasi_identifier") {
        const button = made("button", "Edit", { type: "button", "aria-label": "Edit the hierarchy of " + item.name });
        button.disabled = item.by_hand.includes("derive");
        button.addEventListener("click", () => edit(item));
        last.append(made("code", hierarchy(item)), " ", button);
      }
      row.append(made("th", item.name, { scope: "row" }), cell, told, last);
      body.append(row);
    }
  };
  const hierarchy = (item) => {
    const mine = wanted.columns[item.name] || {};
    if ((mine.groups || []).length) return "tree, as grouped here";
    return mine.hierarchy || item.hierarchy || (item.tree ? "tree" : "suppression");
  };

  /* -- one hierarchy --------------------------------------------------------------------------------------------------- */

  const edit = async (item) => {
    column = item.name;
    added = [];
    byId("setup-editor").hidden = false;
    byId("setup-title").textContent = "Hierarchy of " + column;
    byId("setup-hierarchy").value = (wanted.columns[column] || {}).hierarchy || item.hierarchy;
    byId("setup-hierarchy").placeholder = item.tree ? "a tree: change its groups below, or write another" : "suppression";
    byId("setup-title").focus();
    await group(1);
  };
  byId("setup-use").addEventListener("click", async () => {
    remember();
    of(column).hierarchy = byId("setup-hierarchy").value.trim();
    delete of(column).groups;
    added = [];
    list();
    await group(1);
    changed();
  });

  const level = () => Number(byId("setup-level").value || 1);
  const group = async (at = level()) => {
    const mine = column;
    announce("");
    taken = null;
    const found = await ask("groups", { ...wanted, column });
    if (mine !== column) return;
    const panel = byId("setup-board");
    panel.replaceChildren();
    board = found.levels ? found : null;
    for (const id of ["setup-levels", "setup-help", "setup-new"]) byId(id).hidden = !board;
    if (!board) { panel.append(made("p", found.failed || found.why_not)); return; }
    const choice = byId("setup-level");
    choice.replaceChildren();
    board.levels.forEach((_, i) => choice.append(made("option", (i + 1) + (i ? ": groups of groups" : ": groups of values") +
      ", loss " + board.losses[i + 1], { value: String(i + 1) })));
    choice.value = String(Math.min(at, Math.max(board.levels.length, 1)));
    byId("setup-drop").disabled = !board.levels.length;
    byId("setup-new").hidden = !board.levels.length;
    byId("setup-help").hidden = !board.levels.length;
    draw();
  };
  const change = async (given, at = level()) => {
    remember();
    of(column).groups = [...(of(column).groups || []), given];
    list();
    await group(at);
    if (!board) { done.length && byId("setup-undo").click(); return; }
    changed();
  };

  const groups = () => {
    const found = board.levels[level() - 1].groups;
    const names = new Set(found.map((item) => item.label));
    return [...found, ...added.filter((name) => !names.has(name)).map((name) => ({ label: name, rows: 0, items: [], rare: 0, empty: true }))];
  };
  const draw = () => {
    const panel = byId("setup-board");
    panel.replaceChildren();
    if (!board.levels.length) {
      panel.append(made("p", "Each value by itself, or nothing. Add a level of groups to put values together."));
      return;
    }
    groups().forEach((item, i) => panel.append(box(item, i)));
    const hidden = board.levels[level() - 1].hidden;
    if (hidden) panel.append(made("p", number.format(hidden) + " groups have too few rows to be shown."));
  };
  const box = (item, i) => {
    const found = made("div", undefined, { class: "group", role: "group", "aria-label": "group " + item.label });
    const name = made("input", undefined, { "aria-label": "name of group " + item.label, maxlength: "200" });
    name.value = item.label;
    name.addEventListener("change", () => {
      const to = name.value.trim();
      if (!to || to === item.label) { name.value = item.label; return; }
      if (item.empty) { added = added.map((other) => (other === item.label ? to : other)); draw(); return; }
      change({ kind: "rename", level: level(), label: item.label, to });
    });
    const chips = made("div", undefined, { class: "chips" });
    for (const [label, rows] of item.items) chips.append(chip(label, rows, i));
    found.append(name, chips);
    const rest = [item.rows ? number.format(item.rows) + " rows" : "empty"];
    if (item.rare) rest.push(number.format(item.rare) + " more with too few rows to be shown");
    found.append(made("p", rest.join("; "), { class: "share" }));
    found.addEventListener("dragover", (event) => { if (taken) { event.preventDefault(); aim(i); } });
    found.addEventListener("dragleave", () => found.classList.remove("target"));
    found.addEventListener("drop", (event) => { event.preventDefault(); put(i); });
    found.addEventListener("click", (event) => { if (taken && event.target.tagName !== "INPUT" && !event.target.closest(".chip")) put(i); });
    return found;
  };
  const chip = (label, rows, i) => {
    // No button element: browsers do not drag these.
    const found = made("span", label + " ", { role: "button", tabindex: "0", class: "chip", draggable: "true", "aria-pressed": "false" });
    found.append(made("small", number.format(rows)));
    found.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", label);
      event.dataTransfer.effectAllowed = "move";
      take(found, label, i);
    });
    found.addEventListener("dragend", () => let_go());
    found.addEventListener("click", () => {
      if (!taken) take(found, label, i);
      else if (taken.label === label && taken.from === i) (target === i ? let_go() : put(target));
      else put(i);
    });
    found.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); found.click(); return; }
      if (!taken || taken.label !== label) return;
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (event.key === "Escape") { event.preventDefault(); let_go(); announce(label + " stays where it was."); }
      if (step === undefined) return;
      event.preventDefault();
      const many = groups().length;
      aim((target + step + many) % many);
      announce("To " + groups()[target].label + ": Enter puts " + label + " there.");
    });
    return found;
  };
  const boxes = () => [...byId("setup-board").querySelectorAll(".group")];
  const take = (button, label, from) => {
    let_go();
    taken = { button, label, from };
    target = from;
    button.setAttribute("aria-pressed", "true");
    announce(label + " is taken up: arrow keys choose a group, Enter puts it there, Escape lets it go.");
  };
  const aim = (i) => {
    target = i;
    boxes().forEach((found, place) => found.classList.toggle("target", place === i));
  };
  const let_go = () => {
    if (taken) taken.button.setAttribute("aria-pressed", "false");
    taken = null;
    aim(-1);
  };
  const put = async (i) => {
    const { label, from } = taken || {}, to = groups()[i];
    let_go();
    if (label === undefined || !to || i === from) return;
    await change({ kind: "move", level: level() - 1, label, to: to.label });
    announce(label + " is in " + to.label + ".");
    const moved = [...byId("setup-board").querySelectorAll(".chip")].find((item) => item.firstChild.textContent === label + " ");
    if (moved) moved.focus();
  };

  byId("setup-level").addEventListener("change", () => { let_go(); draw(); });
  byId("setup-add").addEventListener("click", () => change({ kind: "add" }, board.levels.length + 1));
  byId("setup-drop").addEventListener("click", () => change({ kind: "drop", level: level() }, 1));
  byId("setup-new").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("setup-name").value.trim();
    if (!name) return;
    if (groups().some((item) => item.label === name)) { announce("There is a group of that name."); return; }
    added.push(name);
    byId("setup-name").value = "";
    draw();
    announce("The group " + name + " is there; it is kept once something lies in it.");
  });

  if (location.hash === "#set-up") show("setup");
})();
