//go:build linux

package main_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/chromium"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
)

// browserMemory is the least limit of address space under which a browser is started. A browser reserves
// even more, and uses a small part of it.
const browserMemory = 64 << 30

// openBrowser starts Chromium until the test ends. Without Chromium, the test fails on a build
// machine, and is skipped elsewhere.
func openBrowser(t *testing.T) *chromium.Browser {
	t.Helper()
	path, err := chromium.Find()
	if err != nil {
		needs.Missing(t, err.Error())
	}
	var memory syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &memory); err == nil && memory.Cur < browserMemory {
		needs.Missing(t, fmt.Sprintf("a browser needs more address space than the %d GiB that ulimit -v allows", memory.Cur>>30))
	}
	profile, err := os.MkdirTemp("", "chromium") // not t.TempDir, which fails the test if the browser makes files during its removal
	if err != nil {
		t.Fatal(err)
	}
	b, err := chromium.Start(path, profile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		_ = os.RemoveAll(profile)
	})
	return b
}

// tab is a browser tab that shows a page of this project.
type tab struct {
	*chromium.Tab
	t   *testing.T
	ctx context.Context
	url string
}

// openTab opens a page and waits until it shows the state.
func openTab(t *testing.T, b *chromium.Browser, url string) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*pageTimeout)
	t.Cleanup(cancel)
	of, err := b.Open(ctx, 1200, 900)
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{of, t, ctx, url}
	p.prefer("light")
	if err := p.Go(ctx, url); err != nil {
		t.Fatal(err)
	}
	p.until(`document.getElementById("live")?.textContent === "live"`)
	return p
}

// prefer sets the color scheme.
func (p *tab) prefer(scheme string) {
	p.t.Helper()
	if err := p.Prefer(p.ctx, scheme); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](p *tab, expression string) (value T) {
	p.t.Helper()
	if err := p.Eval(p.ctx, expression, &value); err != nil {
		p.t.Fatal(err)
	}
	return value
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.t.Helper()
	deadline := time.After(pageTimeout)
	for !eval[bool](p, expression) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			p.t.Fatalf("not true within %v: %s\nerrors %q\nthe page:\n%s", pageTimeout, expression, p.Errors(), eval[string](p, `document.body.innerText`))
		}
	}
}

// clean checks that the page has complained about nothing, and asked no other host for anything.
func (p *tab) clean() {
	p.t.Helper()
	if list := p.Errors(); len(list) > 0 {
		p.t.Errorf("on the console: %q", list)
	}
	list := p.Requests()
	if len(list) < 4 {
		p.t.Errorf("requests %q", list)
	}
	for _, url := range list {
		if !strings.HasPrefix(strings.TrimPrefix(url, "blob:"), p.url) {
			p.t.Errorf("the page asks for %s", url)
		}
	}
}

// rowOf returns an expression for one row of a table, the row whose first cell has the text header. Its
// value is the list of the texts of the cells.
func rowOf(table, header string) string {
	return fmt.Sprintf(`([...document.querySelectorAll("#%s tbody tr")].filter(r => r.cells[0].textContent === %q).map(r => [...r.cells].map(c => c.textContent))[0] ?? [])`, table, header)
}

// TestPageInBrowser: a real browser shows the numbers of the control socket, and a killed server turns
// dead on the page, without an error on the console and without a request to another host.
func TestPageInBrowser(t *testing.T) {
	if effort.Race && testing.Short() {
		t.Skip("the daemon does for a browser what it does in TestPage and TestPageCapture; left out by -race -short")
	}
	t.Parallel()
	b := openBrowser(t)
	t.Run("daemon", func(t *testing.T) { testDaemonInBrowser(t, b) })
	t.Run("pictures", func(t *testing.T) { testPictures(t, b) })
}

func testDaemonInBrowser(t *testing.T, b *chromium.Browser) {
	spec.Covers(t, "OP-64")
	w, _ := startCapturing(t)
	p := openTab(t, b, w.url)
	p.until(`document.querySelector("#say-cluster").textContent.startsWith("2 of 2 servers alive, quorum")`)
	before := w.Status()
	p.until(fmt.Sprintf(`Number(%s[11]?.replaceAll(",", "")) >= %d`, rowOf("t-nis", "127.0.0.1@tcp"), before.NIs[1].Traffic.Sent.Total()))
	shown, after := eval[[]string](p, rowOf("t-nis", "127.0.0.1@tcp")), w.Status()
	var sent uint64
	if _, err := fmt.Sscan(strings.ReplaceAll(shown[11], ",", ""), &sent); err != nil || sent > after.NIs[1].Traffic.Sent.Total() {
		t.Errorf("the page shows %q, the control socket %d messages sent, %v", shown, after.NIs[1].Traffic.Sent.Total(), err)
	}
	if shown[1] != "lo" || shown[2] != "up" || shown[3] != "100 %" || !strings.HasSuffix(shown[4], fmt.Sprintf(" of %d", before.NIs[1].Tunables.Credits)) {
		t.Errorf("the NI is shown as %q", shown)
	}
	if peer := eval[[]string](p, rowOf("t-peers", "127.0.0.2@tcp")); len(peer) < 3 || peer[1] != "127.0.0.1@tcp" || peer[2] != "up" {
		t.Errorf("the peer is shown as %q", peer)
	}
	testCapture(p, w)
	w.other.Kill()
	p.until(fmt.Sprintf(`%s[1] === "dead"`, rowOf("t-cluster", "127.0.0.2@tcp")))
	p.until(`[...document.querySelectorAll("#tiles > .bad, #tiles > .warn")].some(e => e.textContent.startsWith("Servers alive1 / 2"))`)
	p.until(`[...document.querySelectorAll("#t-events tbody tr")].some(r => r.textContent.endsWith("gossip.died127.0.0.2@tcp"))`)
	p.clean()
	testBrokenCapture(p)
	testWrongToken(p)
}
