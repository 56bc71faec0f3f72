"use strict";
(() => {
  const figures = [...document.querySelectorAll("script.figure")];
  const config = {
    responsive: true,
    displaylogo: false,
    // Without these two Plotly shows a button that sends the data of a plot to its maker's server.
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
  };

  // One plot at a time: the page can be read and scrolled while the rest is drawn.
  const draw = (index) => {
    if (index === figures.length) {
      document.documentElement.dataset.drawn = String(index);
      return;
    }
    const source = figures[index];
    const figure = JSON.parse(source.textContent);
    Plotly.newPlot(source.dataset.target, figure.data, figure.layout, config)
      .then(() => setTimeout(draw, 0, index + 1));
  };

  const resize = () => document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot));
  const { dataset } = document.documentElement;
  document.getElementById("scheme").addEventListener("click", () => {
    const isDark = dataset.scheme
      ? dataset.scheme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    dataset.scheme = isDark ? "light" : "dark";
  });
  window.addEventListener("beforeprint", resize);
  window.addEventListener("afterprint", resize);
  draw(0);
})();
