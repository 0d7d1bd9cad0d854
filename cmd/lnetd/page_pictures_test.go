//go:build linux

package main_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/chromium"
	"ulnet/cmd/internal/page"
	"ulnet/cmd/internal/web"
	"ulnet/cmd/internal/webcapture"
	"ulnet/lnd/lndtest/spec"
)

var update = flag.Bool("update", false, "take the pictures of the page anew")

const (
	pictures = "../../docs/operations" // folder of the pictures
	document = "../../docs/operations.md"
	pageText = "testdata/page.shown" // what the page shows when the pictures are taken
)

// picture is a picture of the page.
type picture struct {
	name   string // name of the file, without .png
	scheme string // light or dark
	at     string // id of the element at the top; empty: the top of the page
}

var taken = []picture{
	{"light", "light", ""},
	{"dark", "dark", ""},
	{"servers", "light", "clients"},
	{"collectives", "dark", "collectives"},
	{"capture", "light", "capture"},
}

// testPictures: the page shows a fixed state as testdata/page.shown says, can be used with the keyboard,
// has tables behind its charts, and a contrast of 4.5:1 in both color schemes. The pictures in
// docs/operations.md show this page; with -update the test takes them anew.
func testPictures(t *testing.T, b *chromium.Browser) {
	spec.Covers(t, "OP-66", "OP-67")
	p := openTab(t, b, serveDemo(t))
	p.until(fmt.Sprintf(`document.querySelectorAll("#t-rates tbody tr").length >= %d`, demoReadings-1))
	p.capture(captureToken, 1)
	p.until(`document.getElementById("say-capture").textContent.endsWith("Ended: its time is over")`)
	testAccess(p)
	got := fmt.Sprintf("files %s\n\n%s\n", filesHash(t), eval[string](p, `(document.querySelectorAll("details").forEach(d => d.open = true), document.body.innerText)`))
	if *update {
		write(t, pageText, []byte(got))
	}
	want, err := os.ReadFile(pageText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the page has changed: go test ./cmd/lnetd -run TestPageInBrowser -update takes the pictures anew\n%s", diff)
	}
	_ = eval[bool](p, `(document.querySelectorAll("#traffic details, #cluster details").forEach(d => d.open = false), document.activeElement.blur(), true)`)
	for _, one := range taken {
		take(p, one)
	}
	p.clean()
}

// take takes a picture, and checks that the file of that picture in docs has the same size in pixels.
func take(p *tab, one picture) {
	p.t.Helper()
	p.prefer(one.scheme)
	testContrast(p, one.scheme)
	_ = eval[bool](p, fmt.Sprintf(`(scrollTo(0, %q ? document.getElementById(%q).offsetTop - 12 : 0), true)`, one.at, one.at))
	text, err := p.Picture(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(pictures, one.name+".png")
	if *update {
		write(p.t, file, small(p.t, text))
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	now, err := png.DecodeConfig(bytes.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	if then, err := png.DecodeConfig(bytes.NewReader(kept)); err != nil || then.Width != now.Width || then.Height != now.Height {
		p.t.Errorf("%s: %dx%d, now %dx%d, %v", file, then.Width, then.Height, now.Width, now.Height, err)
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPicturesOfDocument: each picture in docs/operations.md is one that TestPageInBrowser takes,
// and each that it takes is there.
func TestPicturesOfDocument(t *testing.T) {
	spec.Covers(t, "OP-67")
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var shown, want, kept []string
	for _, m := range regexp.MustCompile(`(?:!\[[^\]]+\]\(|src(?:set)?=")([^)"]+)`).FindAllSubmatch(text, -1) {
		shown = append(shown, string(m[1]))
	}
	for _, one := range taken {
		want = append(want, "operations/"+one.name+".png")
	}
	files, err := filepath.Glob(pictures + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		kept = append(kept, "operations/"+filepath.Base(file))
	}
	slices.Sort(shown)
	slices.Sort(want)
	if shown = slices.Compact(shown); !slices.Equal(shown, want) || !slices.Equal(kept, want) {
		t.Errorf("the document shows %q, its folder has %q, the test takes %q", shown, kept, want)
	}
}

// filesHash is a digest of the files of the page.
func filesHash(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../internal/page/files/*")
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d %s", filepath.Base(file), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// serveDemo serves a page with the states of demo, a hundred times as fast as the page of a
// daemon, and returns its address.
func serveDemo(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	readings := 0
	p := page.New(func() *page.State {
		readings++
		s := demo(min(readings, demoReadings))
		s.Node.Incarnation = uint64(readings / 100) // a new state now and then, which looks the same: the page warns after 10 s without one
		return s
	}, page.Interval/100)
	s := web.New(web.Config{Log: slog.New(slog.DiscardHandler)})
	for path, handler := range p.Pages() {
		s.Handle(path, handler)
	}
	c := demoCapture(t)
	s.HandleOrder(webcapture.StartPath, c.Start())
	s.Handle(webcapture.DownloadPath, c.Download())
	s.Start(l)
	t.Cleanup(func() {
		p.Close()
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Log(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Log(err)
		}
	})
	return "http://" + l.Addr().String() + "/"
}

// demoCapture returns a Capture whose captures have the packets of a recording.
func demoCapture(t *testing.T) *webcapture.Capture {
	t.Helper()
	recording, err := os.ReadFile("../lnetdump/testdata/captures/health.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	return webcapture.New(webcapture.Config{
		View: func(ctx context.Context, out io.Writer, _ bool) error {
			_, err := out.Write(recording)
			<-ctx.Done()
			return err
		},
		Token: func() ([]byte, error) { return []byte(captureToken), nil }, Log: slog.New(slog.DiscardHandler),
	})
}

// demoStart is the time of the first reading of the demo.
var demoStart = time.Date(2026, 11, 27, 14, 30, 0, 0, time.UTC)
