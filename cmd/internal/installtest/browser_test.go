//go:build linux

package installtest

import (
	"context"
	"os"
	"testing"
	"time"

	"ulnet/cmd/internal/chromium"
	"ulnet/lnd/lndtest/netlab"
)

// shown checks that a browser on the host shows the NI of the service on the page of lnetd.
func shown(t *testing.T, on *netlab.Host, path string) {
	t.Helper()
	profile, err := os.MkdirTemp("", "chromium") // not t.TempDir, which fails the test if a file appears while the folder is removed
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(profile) }()
	var browser *chromium.Browser
	if err := on.Do(func() (err error) {
		browser, err = chromium.Start(path, profile)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tab, err := browser.Open(ctx, 1200, 900)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Go(ctx, "http://127.0.0.1:9420/"); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	const live = `document.getElementById("live")?.textContent === "live" && document.body.innerText.includes("10.9.0.1@tcp")`
	for is := false; !is; <-tick.C {
		if err := tab.Eval(ctx, live, &is); err != nil {
			t.Fatal("the page does not show the NI: ", err)
		}
	}
}
