/** What tests ask of a page in the browser. Text, because the project's types know no browser. */

export interface Contrast {
  readonly text: string;
  readonly ink: string;
  readonly ground: string;
  readonly ratio: number;
}

export interface Overlap {
  readonly what: string;
  readonly problem: string;
}

/**
 * Contrast (WCAG 2) of every element with text of its own against each colour of the nearest ground that is painted. A figure that is
 * written over a bar is not in it; bars' labels have the same two colours.
 */
export const contrastScript = `(() => {
  const numbers = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const groundsOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      const stripes = style.backgroundImage.match(/rgba?\\([^)]*\\)/g) ?? [];
      const painted = [style.backgroundColor, ...stripes].filter((colour) => numbers(colour)[3] !== 0);
      if (painted.length > 0) return painted;
    }
    return ["rgb(255, 255, 255)"];
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
  return [...document.querySelectorAll("main *")]
    .filter((element) => hasText(element) && element.checkVisibility() && !element.matches(".figure.inside"))
    .flatMap((element) => {
      const ink = getComputedStyle(element).color;
      return groundsOf(element).map((ground) => ({
        text: element.textContent.trim().slice(0, 40), ink, ground, ratio: ratio(ink, ground),
      }));
    });
})()`;

/** Pixels by which the page is wider than its window. */
export const overflowScript = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

/** Bars and marks that are not to be seen in their lane, and figures that leave theirs. */
export const strayScript = `(() => {
  const within = (a, b, slack) => a.left >= b.left - slack && a.right <= b.right + slack && a.top >= b.top - slack && a.bottom <= b.bottom + slack;
  return [...document.querySelectorAll(".track button, .track .figure")].flatMap((element) => {
    const box = element.getBoundingClientRect();
    const what = element.getAttribute("aria-label") ?? element.textContent;
    if (box.width < 3 || box.height < 8) return [{ what, problem: "too small to be seen" }];
    return within(box, element.parentElement.getBoundingClientRect(), 10) ? [] : [{ what, problem: "leaves its lane" }];
  });
})()`;
