package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxNotes bounds the errors and the requests that are kept of a tab.
const maxNotes = 10_000

// Tab is a tab of a browser.
type Tab struct {
	b       *Browser
	session string

	mu       sync.Mutex
	errors   []string // what the page complained about; guarded by mu
	requests []string // URLs that the page has asked for; guarded by mu
}

// Open opens a tab with an empty page, of a size in pixels.
func (b *Browser) Open(ctx context.Context, width, height int) (*Tab, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	t := &Tab{b: b, session: attached.Session}
	b.mu.Lock()
	b.tabs[t.session] = t
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		if err := t.call(ctx, domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	return t, t.call(ctx, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

func (t *Tab) call(ctx context.Context, method string, params, result any) error {
	return t.b.call(ctx, t.session, method, params, result)
}

// note keeps an event for Errors or Requests, if it is about an error or a request.
func (t *Tab) note(method string, params json.RawMessage) {
	var p struct {
		Type    string `json:"type"`
		Details struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
		Entry struct {
			Level string `json:"level"`
			Text  string `json:"text"`
			URL   string `json:"url"`
		} `json:"entry"`
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.errors)+len(t.requests) >= maxNotes {
		return
	}
	switch {
	case method == "Network.requestWillBeSent":
		t.requests = append(t.requests, p.Request.URL)
	case method == "Runtime.exceptionThrown", method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning"):
		t.errors = append(t.errors, fmt.Sprintf("%s %s %s", p.Type, p.Details.Text, params))
	case method == "Log.entryAdded" && p.Entry.Level == "error":
		t.errors = append(t.errors, p.Entry.Text+" "+p.Entry.URL)
	}
}

// Errors returns the errors and warnings on the console of the tab so far: uncaught exceptions,
// what the page logs, violations of its policy, and failed requests.
func (t *Tab) Errors() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.errors)
}

// Requests returns the URLs that the tab has asked for so far.
func (t *Tab) Requests() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// Go begins to load a page.
func (t *Tab) Go(ctx context.Context, url string) error {
	var r struct {
		Error string `json:"errorText"`
	}
	if err := t.call(ctx, "Page.navigate", map[string]any{"url": url}, &r); err != nil {
		return err
	}
	if r.Error != "" {
		return fmt.Errorf("chromium: %s: %s", url, r.Error)
	}
	return nil
}

// Prefer sets the color scheme that the user prefers, light or dark.
func (t *Tab) Prefer(ctx context.Context, scheme string) error {
	features := []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}
	return t.call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// Eval evaluates an expression of JavaScript in the page, and decodes its value into result.
func (t *Tab) Eval(ctx context.Context, expression string, result any) error {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := t.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r); err != nil {
		return err
	}
	switch {
	case r.Exception != nil:
		return errors.New("chromium: " + r.Exception.Exception.Description)
	case r.Result.Value == nil:
		return fmt.Errorf("chromium: %s has no value", expression)
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Downloads allows downloads of all tabs, into a folder. A file gets its name when it is complete.
func (t *Tab) Downloads(ctx context.Context, folder string) error {
	return t.b.call(ctx, "", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": folder}, nil)
}

// Press presses a key, such as Tab.
func (t *Tab) Press(ctx context.Context, key string, code int) error {
	for _, what := range []string{"keyDown", "keyUp"} {
		if err := t.call(ctx, "Input.dispatchKeyEvent", map[string]any{"type": what, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Picture returns a PNG of what the tab shows.
func (t *Tab) Picture(ctx context.Context) (png []byte, err error) {
	var r struct {
		Data []byte `json:"data"`
	}
	err = t.call(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": false}, &r)
	return r.Data, err
}
