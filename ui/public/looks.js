// Before the first paint: the kept looks as attributes of the root element, as `src/store/looks.ts` keeps them later.
// A script of its own, for the window's rules allow none within the page.
(function () {
  try {
    const kept = JSON.parse(localStorage.getItem("forge.preferences")).state;
    const { theme = "system", density = "compact", textSize = 100 } = kept;
    const asked = theme === "system" && matchMedia("(prefers-contrast: more)").matches;
    const root = document.documentElement.dataset;
    if (theme === "light" || theme === "dark") root.theme = theme;
    if (theme === "contrast" || asked) root.contrast = "more";
    if (density !== "compact") root.density = density;
    if (textSize !== 100) root.text = String(textSize);
  } catch {
    // Nothing was kept, or it cannot be read: the page is drawn as it is without.
  }
})();
