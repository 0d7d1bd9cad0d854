//go:build linux

package main_test

// structure is an expression for what is wrong with the structure of a page: tables without a caption
// or headers, charts without a text or a table behind them, areas that scroll and cannot be reached
// by the keyboard, sections without a heading.
const structure = `(() => {
  const bad = [];
  const shown = (e) => e.checkVisibility();
  for (const t of document.querySelectorAll("table")) {
    if (!t.tHead) continue;
    if (!t.caption?.textContent) bad.push(t.id + " has no caption");
    if ([...t.tHead.rows[0].cells].some(c => c.scope !== "col" || !c.textContent)) bad.push(t.id + " has columns without a header");
    if ([...t.tBodies[0].rows].some(r => r.cells[0].scope !== "row")) bad.push(t.id + " has rows without a header");
  }
  for (const c of document.querySelectorAll("svg.chart")) {
    if (c.getAttribute("role") !== "img" || !c.getAttribute("aria-label")) bad.push("a chart has no text");
    if (!c.closest("section").querySelector("details table")) bad.push("a chart has no table");
  }
  for (const e of document.querySelectorAll(".scroll")) if (e.tabIndex !== 0 || !e.getAttribute("aria-label")) bad.push("an area cannot be reached");
  for (const e of document.querySelectorAll("input")) if (!e.labels.length || !e.labels[0].textContent.trim()) bad.push(e.id + " has no label");
  for (const s of document.querySelectorAll("section")) if (!document.getElementById(s.getAttribute("aria-labelledby"))) bad.push(s.id + " has no heading");
  if (document.documentElement.lang !== "en" || !document.title || document.querySelectorAll("h1").length !== 1 || !document.querySelector("main")) bad.push("the page has no language, title, heading or main part");
  if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is wider than the window");
  return bad;
})()`

// contrast is an expression for the visible texts whose contrast to what is behind them is below
// 4.5:1 (WCAG 2.2, 1.4.3).
const contrast = `(() => {
  const parse = (c) => { const v = c.match(/[\d.]+/g).map(Number); return v.length > 3 ? v : [...v, 1]; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  let texts = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode()); ) {
    const e = n.parentElement;
    if (!n.data.trim() || !e.checkVisibility() || e.closest("script, noscript, .hidden")) continue;
    texts++;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(n.data.trim().slice(0, 40) + " " + ratio.toFixed(2));
  }
  return texts < 50 ? ["only " + texts + " texts"] : bad;
})()`

// tabKey is the code of the key Tab.
const tabKey = 9

// testAccess checks that a page can be used without a mouse and without seeing its charts.
func testAccess(p *tab) {
	p.t.Helper()
	if bad := eval[[]string](p, structure); len(bad) > 0 {
		p.t.Errorf("structure: %q", bad)
	}
	seen := map[string]bool{}
	for range 60 {
		if err := p.Press(p.ctx, "Tab", tabKey); err != nil {
			p.t.Fatal(err)
		}
		seen[eval[string](p, `(() => { const e = document.activeElement, r = e.getBoundingClientRect(); return (r.width > 0 && r.bottom > 0 && getComputedStyle(e).outlineStyle !== "none" ? "" : "hidden ") + e.tagName + (e.className && "." + e.className) })()`)] = true
	}
	for _, want := range []string{"A.skip", "A", "SUMMARY", "DIV.scroll", "INPUT", "BUTTON"} {
		if !seen[want] {
			p.t.Errorf("the key Tab does not lead to %s, but to %v", want, seen)
		}
	}
	for what := range seen {
		if len(what) > 7 && what[:7] == "hidden " && what != "hidden BODY" {
			p.t.Errorf("%s cannot be seen while it has the focus", what)
		}
	}
}

// testContrast checks the contrast of all texts in a color scheme.
func testContrast(p *tab, scheme string) {
	p.t.Helper()
	if bad := eval[[]string](p, contrast); len(bad) > 0 {
		p.t.Errorf("%s: contrast: %q", scheme, bad)
	}
}
