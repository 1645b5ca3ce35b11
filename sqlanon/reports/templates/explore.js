/* What a database adds to the lattice: verdicts of nodes that are clicked, another k or limit, the lock file. */
(() => {
  const lattice = window.sqlanonLattice;
  const byId = (id) => document.getElementById(id);
  const status = byId("explore-status");
  const asked = { k: byId("k").value, limit: byId("limit").value };
  const PATIENCE = 2;
  let waiting = 0;

  const say = (text) => { status.textContent = text; };

  const ask = async (question, content) => {
    waiting += 1;
    document.body.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(question, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...asked, ...content }),
      });
      const found = await answer.json();
      if (!answer.ok) { say(found.error); return null; }
      return found;
    } catch {
      say("sqlanon does not answer any more: start it again.");
      return null;
    } finally {
      waiting -= 1;
      if (!waiting) document.body.removeAttribute("aria-busy");
    }
  };

  const evaluate = async (levels, price) => {
    byId("explore-ask").hidden = true;
    say("The database evaluates (" + levels.join(",") + ")" + (price ? ": it " + price.text : "") + " …");
    const found = await ask("evaluate", { levels });
    if (!found) return;
    lattice.load(found.lattice);
    say("Evaluated (" + levels.join(",") + ").");
  };
  let costly = null;
  lattice.onSelect((levels, verdict, price) => {
    byId("explore-save").disabled = false;
    byId("explore-ask").hidden = true;
    if (verdict) return;
    if (price && price.seconds > PATIENCE) {
      // What takes long is asked when it is wanted, not by passing over it.
      costly = [levels, price];
      byId("explore-ask").textContent = "Evaluate: " + price.text;
      byId("explore-ask").hidden = false;
      say("(" + levels.join(",") + ") is not evaluated yet; that " + price.text + ".");
      return;
    }
    evaluate(levels, price);
  });
  byId("explore-ask").addEventListener("click", () => evaluate(...costly));

  // The answer of the search is where one begins.
  lattice.start();

  byId("settings").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = { k: byId("k").value.trim(), limit: byId("limit").value.trim() };
    say("Searching with k = " + (given.k || "as the spec says") + " and limit " + given.limit + " …");
    const found = await ask("settings", given);
    if (!found) return;
    Object.assign(asked, given);
    lattice.load(found.lattice);
    const own = found.own ? " These are the k and the limit of the spec." : " The spec has another k or limit, which a node must satisfy to be written.";
    say(found.message || "The search chose (" + found.lattice.chosen.join(",") + ")." + own);
  });

  byId("explore-save").addEventListener("click", async () => {
    const levels = lattice.selected();
    if (!levels) return;
    const found = await ask("save", { levels });
    if (found) say("Wrote (" + levels.join(",") + ") to " + found.lock + ".");
  });
})();
