//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
	"ulnet/cmd/internal/webcapture"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
)

// captureToken is the token of the daemons of these tests.
const captureToken = "0123456789abcdef-0123456789abcdef"

// startCapturing starts the daemons of startWatched. The daemon with the page lets a client capture if the
// client has the token that is in the returned file.
func startCapturing(t *testing.T) (w *watched, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "token")
	setToken(t, file, captureToken)
	return startWatched(t, "metrics_capture_token: "+file), file
}

func setToken(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// order sends an HTTP request for a capture, with the given headers.
func (w *watched) order(ctx context.Context, t *testing.T, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"capture", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// reports reads the stream of a capture until f says that it has enough. The end of the stream before that
// is an error.
func reports(t *testing.T, stream io.Reader, f func(webcapture.Report) (enough bool)) {
	t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r webcapture.Report
		if text, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); !ok {
			continue
		} else if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if f(r) {
			return
		}
	}
	t.Fatalf("the stream ends: %v", lines.Err())
}

// saysGossip reports whether a report has a message of gossip that was decoded.
func saysGossip(r webcapture.Report) bool {
	for _, l := range r.Lines {
		if strings.Contains(l.What, "(gossip") && strings.HasSuffix(l.From, "@tcp") {
			return true
		}
	}
	return false
}

// TestPageCapture: a capture of the page asks for the token, shows decoded messages, goes on during a
// reload, and ends with its client and with the daemon. Neither the configuration that lnetctl shows nor
// the log has the token.
func TestPageCapture(t *testing.T) {
	spec.Covers(t, "OP-61", "OP-70", "OP-71")
	t.Parallel()
	w, file := startCapturing(t)
	const bearer = "Authorization: Bearer " + captureToken
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 401},
		{[]string{"Authorization: Bearer x" + captureToken}, 401},
		{[]string{bearer, "Host: evil.example"}, 403},
		{[]string{bearer, "Origin: http://evil.example"}, 403},
		{[]string{bearer, "Content-Type: text/plain"}, 415},
		{[]string{bearer}, 400},
	} {
		if answer := w.order(t.Context(), t, `{"seconds":7000}`, c.headers...); answer.StatusCode != c.status {
			t.Errorf("%q: status %d, want %d", c.headers, answer.StatusCode, c.status)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	first := w.order(ctx, t, `{"seconds":600,"payload":true}`, bearer)
	reports(t, first.Body, saysGossip)
	if _, err := daemon.OpReload.Call(t.Context(), w.Control(), control.None{}); err != nil {
		t.Error(err)
	}
	reports(t, first.Body, saysGossip)
	w.Until(pageTimeout, "two wrong tokens", func() bool { s := w.state(t); return s.Capture != nil && s.Capture.Wrong == 2 })
	leave()
	w.Until(pageTimeout, "end of the capture", func() bool {
		s := w.state(t)
		return s.Capture != nil && !s.Capture.Running && s.Capture.Bytes > 0
	})
	values, err := daemon.OpConfig.Call(t.Context(), w.Control(), control.None{})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(values) + w.Log(); strings.Contains(text, captureToken) || !strings.Contains(text, "metrics_capture_token") {
		t.Error("the configuration or the log has the token")
	}
	setToken(t, file, "another-"+captureToken)
	if answer := w.order(t.Context(), t, `{}`, bearer); answer.StatusCode != 401 {
		t.Errorf("the old token: status %d", answer.StatusCode)
	}
	setToken(t, file, captureToken)
	second := w.order(t.Context(), t, `{"seconds":600}`, bearer)
	reports(t, second.Body, func(webcapture.Report) bool { return true })
	if err := w.Stop(); err != nil {
		t.Error(err)
	}
	reports(t, second.Body, func(r webcapture.Report) bool { return r.Ended == "lnetd ends" })
}

// capture starts a capture with payload.
func (p *tab) capture(token string, seconds int) {
	p.t.Helper()
	_ = eval[bool](p, fmt.Sprintf(`(() => {
		const of = (name) => document.getElementById("capture-" + name);
		of("token").value = %q;
		of("payload").checked = true;
		of("seconds").value = %d;
		of("start").click();
		return true;
	})()`, token, seconds))
}

// testCapture: a capture that a browser starts shows decoded messages, and its download is a capture.
func testCapture(p *tab, w *watched) {
	p.t.Helper()
	spec.Covers(p.t, "OP-72")
	folder := p.t.TempDir()
	if err := p.Downloads(p.ctx, folder); err != nil {
		p.t.Fatal(err)
	}
	p.capture(captureToken, 600)
	p.until(`[...document.querySelectorAll("#t-capture tbody tr")].some(r => r.textContent.includes("127.0.0.2@tcp") && r.textContent.includes("(gossip"))`)
	_ = eval[bool](p, `(document.getElementById("capture-stop").click(), true)`)
	p.until(saysOfCapture("Ended: stopped"))
	p.until(`!document.getElementById("capture-download").disabled && !document.getElementById("capture-start").disabled`)
	_ = eval[bool](p, `(document.getElementById("capture-download").click(), true)`)
	testDownload(p.t, w, folder)
}

// testBrokenCapture: if the stream of a capture ends without a reason, the page says that the connection
// has broken, and how much was not captured.
func testBrokenCapture(p *tab) {
	p.t.Helper()
	_ = eval[bool](p, `(() => {
		window.fetchOfNode = window.fetch;
		window.fetch = async () => new Response('data: {"records":1,"bytes":9,"missed":0,"dropped":3}\n\n');
		return true;
	})()`)
	p.capture(captureToken, 600)
	p.until(saysOfCapture("The connection to lnetd has broken"))
	p.until(saysOfCapture("3 packets not captured"))
	_ = eval[bool](p, `(window.fetch = window.fetchOfNode, true)`)
}

// testWrongToken: a wrong token starts no capture, and the page says why. The console of
// the browser shows one error, the status 401.
func testWrongToken(p *tab) {
	p.t.Helper()
	p.capture("wrong", 600)
	p.until(saysOfCapture("No capture: the token is wrong"))
	if list := p.Errors(); len(list) != 1 || !strings.Contains(list[0], "401") {
		p.t.Errorf("on the console: %q", list)
	}
}

// saysOfCapture returns an expression that is true if the page shows the text in its line about the capture.
func saysOfCapture(text string) string {
	return fmt.Sprintf(`document.getElementById("say-capture").textContent.includes(%q)`, text)
}

// testDownload waits for a file in a folder, which must be a capture with messages.
func testDownload(t *testing.T, w *watched, folder string) {
	t.Helper()
	var file string
	w.Until(pageTimeout, "download", func() bool {
		list, err := filepath.Glob(folder + "/*.pcapng")
		if len(list) == 1 {
			file = list[0]
		}
		return err == nil && file != ""
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := capture.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Message {
			messages++
		}
	})
	for {
		p, err := in.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	if d.Close(); messages == 0 {
		t.Error("the download has no messages")
	}
}
