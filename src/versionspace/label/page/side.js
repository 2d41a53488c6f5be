// Everything around the image: progress, the stop light, the model's state, the last answers and the curves.

import { $, duration, make, percent, shape } from "./dom.js";

const LIGHTS = { red: "Keep labelling", amber: "Check first", green: "You can stop" };
const RAIL = 8;
const STAGES = { features: "computing features", fit: "training", predict: "predicting", measure: "measuring", query: "choosing" };

export function drawStatus(found, { trouble }) {
  const share = Math.min(1, found.done / found.budget);
  const bar = $("progress");
  bar.setAttribute("aria-valuemax", String(found.budget));
  bar.setAttribute("aria-valuenow", String(found.done));
  bar.firstElementChild.style.width = `${100 * share}%`;
  const people = found.people > 1 ? ` · ${found.people} people` : "";
  const pace = found.done ? ` · ${found.seconds.toFixed(1)} s per label · ${duration(found.left)} left` : "";
  $("figures").replaceChildren(make("strong", { textContent: String(found.done) }), ` of ${found.budget}${pace}${people}`);

  const light = $("light");
  light.dataset.colour = found.light.colour;
  light.querySelector("strong").textContent = LIGHTS[found.light.colour];
  light.querySelector(".why").textContent = found.light.sentence;
  $("model").textContent = model(found);

  drawTrouble(found.training, trouble);

  $("troubles").hidden = !found.troubles.length;
  const list = $("troubles").querySelector("ul");
  if (list.childElementCount !== found.troubles.length) {
    list.replaceChildren(...found.troubles.map((text) => make("li", { textContent: text })));
  }
  drawCurves(found.curves);
}

// Screen readers announce an alert whenever it changes, so the countdown is a separate element.
function drawTrouble({ stage, trouble: why, retry }, trouble) {
  const down = stage === "down" && Boolean(why);
  const again = retry > 0 ? " It restarts automatically." : "";
  const said = [trouble, down ? `The trainer stopped: ${why}.${again} You can keep labelling.` : ""].filter(Boolean).join(" ");
  if ($("trouble").textContent !== said) { // setting the same text may announce the alert again
    $("trouble").hidden = $("trouble").parentElement.hidden = !said;
    $("trouble").textContent = said;
  }
  $("retry").hidden = !(down && retry > 1);
  $("retry").textContent = $("retry").hidden ? "" : `Restart in ${Math.ceil(retry)} s.`;
}

function model(found) {
  if (found.ended) return "The last model is trained.";
  const { stage, share, round } = found.training;
  const busy = stage in STAGES;
  if (found.done >= found.budget) return busy ? `The last model: ${STAGES[stage]} ${percent(share)}` : "";
  const now = busy ? `${found.round ? "next" : "first"} model: ${STAGES[stage]}${stage === "fit" ? ` ${percent(share)}` : ""}` : "";
  if (!found.round) return busy ? `The ${now}` : "Diverse images, until the first model is trained";
  const late = found.behind === 1 ? "1 label behind" : `${found.behind} labels behind`;
  return `Round ${found.round} model chooses the images, ${late}${now ? ` · ${now} (round ${round})` : ""}`;
}

export function drawRail(rail, correct) {
  const list = $("rail");
  const key = rail.map((one) => one.uid).join();
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  if (!rail.length) {
    list.replaceChildren(make("li", { className: "hint", textContent: "Your answers appear here; click one to correct it." }));
    return;
  }
  list.replaceChildren(...rail.slice(0, RAIL).map((one) => {
    const what = one.name ?? one.reason;
    const picture = make("img", { alt: "", src: `/image/${encodeURIComponent(one.image)}?small=true` });
    picture.addEventListener("load", () => picture.classList.toggle("tiny", picture.naturalWidth < 100));
    const made = make("button", { type: "button", title: `${what}: click to correct` }, picture,
      make("span", { className: one.name === null ? "none" : "", textContent: what }));
    made.setAttribute("aria-label", `Correct: ${what}`);
    made.addEventListener("click", () => correct(one));
    return make("li", {}, made);
  }));
}

let drawn = "";
function drawCurves(points) {
  const key = JSON.stringify(points);
  if (key === drawn) return;
  drawn = key;
  if (!points.length) {
    $("curves").replaceChildren(make("p", { className: "hint", textContent: "The curves start with the first model." }));
    return;
  }
  const audits = points.filter((point) => point.audit);
  const last = points.at(-1);
  const kept = [curve("Diameter: member disagreement", points.map((p) => ({ x: p.labels, y: p.diameter })),
    percent(last.diameter))];
  if (audits.length) {
    const { accuracy, low, high, images } = audits.at(-1).audit;
    kept.push(curve(`Accuracy on ${images} audit images`,
      audits.map((p) => ({ x: p.labels, y: p.audit.accuracy, low: p.audit.low, high: p.audit.high })),
      `${percent(accuracy)} (${percent(low)} to ${percent(high)})`, 1));
  }
  $("curves").replaceChildren(...kept);
}

function curve(title, points, end, top) {
  const [width, height, pad] = [260, 84, 8];
  const highest = top ?? Math.max(0.02, ...points.map((p) => p.y)) * 1.1;
  const furthest = Math.max(1, ...points.map((p) => p.x));
  const x = (v) => pad + ((width - 2 * pad) * v) / furthest;
  const y = (v) => height - pad - ((height - 2 * pad) * v) / highest;
  const line = points.map((p) => `${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join(" ");
  const parts = [shape("line", { x1: pad, x2: width - pad, y1: y(0), y2: y(0), class: "axis" })];
  if (points[0].low !== undefined) {
    const band = [...points.map((p) => [p.x, p.high]), ...points.map((p) => [p.x, p.low]).reverse()];
    parts.push(shape("polygon", { class: "band", points: band.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
  }
  parts.push(shape("polyline", { class: "line", points: line }));
  const tip = points.at(-1);
  parts.push(shape("circle", { class: "tip", cx: x(tip.x), cy: y(tip.y), r: 3.5 }));
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, ...parts);
  drawing.setAttribute("aria-label", `${title}: ${end} after ${tip.x} labels, in ${points.length} rounds`);
  return make("figure", {}, make("figcaption", {}, make("span", { textContent: title }),
    make("strong", { textContent: end })), drawing,
    make("p", { className: "scale" }, make("span", { textContent: "0" }), make("span", { textContent: `${tip.x} labels` })));
}
