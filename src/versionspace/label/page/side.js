// Everything around the image: progress, the stop light, the model's state, the last answers and the curves.

import { $, duration, isSmall, make, percent, shape } from "./dom.js";

const LIGHTS = { red: "Keep labelling", amber: "Check first", green: "You can stop" };
const NAMELESS = "without a name";
const RAIL = 8;
const UNSEEN = 8; // names listed of the classes without labels
const IN_FOOTER = ["Advice", "Model"]; // listed in the panel on a narrow screen only
const STAGES = { features: "computing features", fit: "training", predict: "predicting", measure: "measuring", query: "choosing", result: "writing a file" };

export function drawStatus(found, { trouble, who }) {
  const share = Math.min(1, found.done / found.budget);
  const bar = $("progress");
  bar.setAttribute("aria-valuemax", String(found.budget));
  bar.setAttribute("aria-valuenow", String(found.done));
  bar.firstElementChild.style.width = `${100 * share}%`;
  const people = found.people.length > 1 ? ` · ${found.people.length} people` : "";
  const pace = found.done ? ` · ${found.seconds.toFixed(1)} s per label · ${duration(found.left)} left` : "";
  $("figures").replaceChildren(make("strong", { textContent: String(found.done) }), ` of ${found.budget}${pace}`,
    make("span", { className: "people", textContent: people, title: found.people.map((one) => one || NAMELESS).join(", ") }));

  const light = $("light");
  const { colour, sentence } = found.light;
  light.dataset.colour = colour;
  light.querySelector("strong").textContent = LIGHTS[colour];
  light.querySelector(".why").textContent = sentence;
  $("model").textContent = model(found);
  light.title = sentence;
  $("model").title = $("model").textContent;

  drawTrouble(found.training, trouble);

  $("troubles").hidden = !found.troubles.length;
  const list = $("troubles").querySelector("ul");
  if (list.childElementCount !== found.troubles.length) {
    list.replaceChildren(...found.troubles.map((text) => make("li", { textContent: text })));
  }
  drawNow(found, who);
  drawCurves(found.curves);
}

// The state in full: the footer has room for two lines only.
let now = "";
function drawNow(found, who) {
  const all = found.classes.filter((one) => !one.seen).map((one) => one.name);
  const unseen = all.length > UNSEEN + 1 ? [...all.slice(0, UNSEEN), `and ${all.length - UNSEEN} more`] : all;
  const others = found.people.filter((one) => one && one !== who);
  const nameless = found.people.filter((one) => !one).length - (who ? 0 : 1);
  const people = [who ? `${who} (you)` : "you", ...others, ...(nameless > 0 ? [`${nameless} ${NAMELESS}`] : [])];
  const rows = [["Advice", `${LIGHTS[found.light.colour]}. ${found.light.sentence}`], ["Model", model(found)],
    ["Not seen yet", found.done ? unseen.join(", ") : ""], ["People", people.length > 1 ? people.join(", ") : ""]]
    .filter(([, text]) => text);
  $("now").hidden = !rows.length;
  const key = JSON.stringify(rows);
  if (key === now) return;
  now = key;
  $("now").querySelector("dl").replaceChildren(...rows.map(([title, text]) =>
    make("div", { className: IN_FOOTER.includes(title) ? "narrow" : "" }, make("dt", { textContent: title }), make("dd", { textContent: text }))));
}

// Screen readers announce an alert whenever it changes, so the countdown is a separate element.
function drawTrouble({ stage, trouble: why, retry }, trouble) {
  const down = !trouble && stage === "down" && Boolean(why); // nothing is known of a trainer whose server is away
  const again = retry > 0 ? " It restarts automatically." : "";
  const said = trouble || (down ? `The trainer stopped: ${why}.${again} You can keep labelling.` : "");
  if ($("trouble").textContent !== said) { // setting the same text may announce the alert again
    $("trouble").hidden = $("trouble").parentElement.hidden = !said;
    $("trouble").textContent = said;
    $("trouble").parentElement.classList.toggle("offline", Boolean(trouble));
  }
  $("retry").hidden = !(down && retry > 1);
  $("retry").textContent = $("retry").hidden ? "" : `Restart in ${Math.ceil(retry)} s.`;
}

function model(found) {
  if (found.ended) return "The last model is trained.";
  const { stage, share, round, features } = found.training;
  const busy = stage in STAGES;
  if (found.done >= found.budget) return busy ? `The last model: ${STAGES[stage]} ${percent(share)}` : "";
  const now = busy ? `${found.round ? "next" : "first"} model: ${STAGES[stage]}${stage === "fit" ? ` ${percent(share)}` : ""}` : "";
  if (!found.round && stage === "starting") return `The trainer is starting${features ? `: ${features}` : ""}`;
  if (!found.round && stage === "features" && features) return `Before the first model: ${features}`;
  if (!found.round) return busy ? `The ${now}` : "Images that stand for many others, until the first model is trained";
  const late = found.behind === 1 ? "1 label behind" : `${found.behind} labels behind`;
  return `Round ${found.round} model chooses the images, ${late}${now ? ` · ${now} (round ${round})` : ""}${features ? ` · ${features}` : ""}`;
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
    picture.addEventListener("load", () => picture.classList.toggle("tiny", isSmall(picture)));
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
  const audits = rising(points.filter((point) => point.audit));
  const kept = [curve("Diameter: member disagreement", rising(points).map((p) => ({ x: p.labels, y: p.diameter })),
    percent(points.at(-1).diameter))];
  if (audits.length) {
    const { accuracy, low, high, images } = audits.at(-1).audit;
    kept.push(curve(`Accuracy on ${images} audit images`,
      audits.map((p) => ({ x: p.labels, y: p.audit.accuracy, low: p.audit.low, high: p.audit.high })),
      `${percent(accuracy)} (${percent(low)} to ${percent(high)})`, 1));
  }
  $("curves").replaceChildren(...kept);
}

// After an undo a round may have fewer labels than an earlier one, which it then replaces: a curve never runs backwards.
export function rising(points) {
  return points.filter((point, place) => points.slice(place + 1).every((later) => later.labels > point.labels));
}

// The smallest of 1, 2 or 5 times a power of ten that is at least this value.
export function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * power).find((one) => one >= value * (1 - 1e-9));
}

function curve(title, points, end, top) {
  const [width, height, left, base] = [264, 112, 34, 96]; // the drawing, and where its axes cross
  const highest = top ?? Math.min(1, ceiling(Math.max(0.02, ...points.map((p) => p.y))));
  const furthest = ceiling(Math.max(10, points.at(-1).x));
  const x = (v) => (left + ((width - left - 12) * v) / furthest).toFixed(1);
  const y = (v) => (base - ((base - 8) * v) / highest).toFixed(1);
  const parts = [0, highest / 2, highest].flatMap((v) => [
    shape("line", { x1: left, x2: width - 6, y1: y(v), y2: y(v), class: "axis" }),
    shape("text", { x: left - 4, y: Number(y(v)) + 3.5, "text-anchor": "end", class: "tick" }, `${+(100 * v).toFixed(1)}%`),
  ]);
  for (const v of [0, furthest / 2, furthest]) {
    const anchor = v === furthest ? "end" : "middle";
    const text = v === furthest ? `${v} labels` : String(v);
    parts.push(shape("text", { x: v === furthest ? width : x(v), y: height - 2, "text-anchor": anchor, class: "tick" }, text));
  }
  if (points[0].low !== undefined) {
    const band = [...points.map((p) => [p.x, p.high]), ...points.map((p) => [p.x, p.low]).reverse()];
    parts.push(shape("polygon", { class: "band", points: band.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
  }
  parts.push(shape("polyline", { class: "line", points: points.map((p) => `${x(p.x)},${y(p.y)}`).join(" ") }));
  const tip = points.at(-1);
  parts.push(shape("circle", { class: "tip", cx: x(tip.x), cy: y(tip.y), r: 3.5 }));
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, ...parts);
  drawing.setAttribute("aria-label", `${title}: ${end} after ${tip.x} labels, in ${points.length} rounds`);
  return make("figure", {}, make("figcaption", {}, make("span", { textContent: title }),
    make("strong", { textContent: end })), drawing);
}
