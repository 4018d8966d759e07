// SPDX-License-Identifier: MIT
// The site opened from a folder: browsers start no worker from file://, so the search's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.scope = frame.contentWindow;
      const inFrame = (source) => new Promise((loaded) => {
        const script = frame.contentDocument.createElement("script");
        script.src = source;
        script.onload = loaded;
        frame.contentDocument.body.appendChild(script);
      });
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.scope.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => inFrame(source)), Promise.resolve());
      this.ready = inFrame(url);
    }
    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
