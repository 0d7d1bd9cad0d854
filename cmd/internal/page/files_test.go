package page

import (
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestFiles: each file of the page has its type and a policy that allows no code or style within the
// page, and nothing from another host. The files themselves have no such code, style or address.
func TestFiles(t *testing.T) {
	spec.Covers(t, "OP-60")
	p := New(func() *State { return &State{} }, Interval)
	want := map[string]string{"/": "text/html"}
	list, err := os.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if contentType := map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}[path.Ext(f.Name())]; contentType != "" {
			want["/"+f.Name()] = contentType
		}
	}
	if len(want) != len(list) || len(p.Pages()) != len(want)+2 {
		t.Errorf("%d pages and %d files, want %v, /state and /events", len(p.Pages()), len(list), want)
	}
	for path, contentType := range want {
		w := get(t, p, path)
		h := w.Header()
		if w.Code != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), contentType) || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, %v", path, w.Code, h)
		}
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, ":") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if found := foreign.FindAllString(notForeign.Replace(w.Body.String()), -1); found != nil {
			t.Errorf("%s has %q", path, found)
		}
	}
}

// notForeign takes out what looks like an address of another host and is none.
var notForeign = strings.NewReplacer("http://www.w3.org/", "", "createObjectURL(", "", "revokeObjectURL(", "")

// foreign matches addresses of other hosts, code and styles within the page, and what turns texts
// into code or into elements of the page.
var foreign = regexp.MustCompile(`(?i)https?://|url\(|@import|<script>|<style|\sstyle=|\son\w+=|javascript:|innerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function`)
