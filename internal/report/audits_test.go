//go:build browser

package report

const openDetails = `document.querySelectorAll("details").forEach(d => d.open = true)`

// audits are the checks that a page can be asked for; each gives its faults.
// Contrast: WCAG 2.2, 1.4.3, relative luminance and ratio as defined there.
const audits = `
function overflow() {
  const d = document.documentElement;
  return d.scrollWidth > d.clientWidth ? [d.scrollWidth + " px wide in " + d.clientWidth] : [];
}
function headings() {
  const out = []; let last = 0;
  for (const h of document.querySelectorAll("h1,h2,h3,h4")) {
    const n = +h.tagName[1];
    if (n > last + 1) out.push(h.tagName + " after H" + last + ": " + h.textContent);
    if (!h.textContent.trim()) out.push("empty " + h.tagName);
    last = n;
  }
  if (document.querySelectorAll("h1").length !== 1) out.push("not one h1");
  return out;
}
function names() {
  const out = [], ids = new Set();
  for (const s of document.querySelectorAll("svg"))
    if (s.getAttribute("role") !== "img" || !s.querySelector(":scope > title")?.textContent.trim() || !s.querySelector(":scope > desc")?.textContent.trim()) out.push("svg without a name");
  for (const t of document.querySelectorAll("table")) {
    if (!t.caption?.textContent.trim()) out.push("table without a caption");
    if (t.querySelector("thead th:not([scope=col])") || t.querySelector("tbody th:not([scope=row])")) out.push("header cell without a scope");
  }
  for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) out.push("id twice: " + e.id); ids.add(e.id); }
  for (const e of document.querySelectorAll("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) out.push("label is not there: " + e.getAttribute("aria-labelledby"));
  for (const a of document.querySelectorAll("a")) if (!a.textContent.trim()) out.push("link without a text");
  if (!document.documentElement.lang || !document.title) out.push("no language or title");
  return out;
}
function texts() {
  const out = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest("title,desc,.skip,.sr") || !e.checkVisibility()) continue;
    out.push(e);
  }
  return [...new Set(out)];
}
function rgba(s) { const m = s.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; }
function luminance(c) {
  const f = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2];
}
function background(e) {
  for (; e; e = e.parentElement) { const b = rgba(getComputedStyle(e).backgroundColor); if (b[3] === 1) return b; }
  return [255, 255, 255, 1];
}
function contrast() {
  const out = [];
  for (const e of texts()) {
    const s = getComputedStyle(e), a = luminance(rgba(e.ownerSVGElement ? s.fill : s.color)), b = luminance(background(e));
    const r = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (r < 4.5) out.push(r.toFixed(2) + " " + e.tagName + "." + (e.getAttribute("class") || "") + ": " + e.textContent.slice(0, 40));
  }
  return out.length || texts().length > 20 ? out : ["no text found"];
}
function smallText() {
  const out = [];
  for (const e of texts()) {
    const svg = e.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const px = parseFloat(getComputedStyle(e).fontSize) * scale;
    if (px < 10) out.push(px.toFixed(1) + " px: " + e.textContent.slice(0, 40));
  }
  return out;
}
function clipped() {
  const out = [], w = document.documentElement.clientWidth;
  for (const e of document.querySelectorAll("svg text")) {
    const b = e.getBoundingClientRect(), f = e.ownerSVGElement.getBoundingClientRect();
    if (e.closest(".scroll") || !e.checkVisibility()) continue;
    if (b.left < f.left - 6 || b.right > f.right + 6 || b.left < 0 || b.right > w) out.push(e.textContent + " sticks out of its chart");
  }
  return out;
}
function printed() {
  const out = [];
  if (getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)") out.push("paper is not white: " + getComputedStyle(document.body).backgroundColor);
  for (const d of document.querySelectorAll("details > :not(summary)")) if (!d.checkVisibility({contentVisibilityAuto: true})) { out.push("a folded part is not printed"); break; }
  return out;
}
`
