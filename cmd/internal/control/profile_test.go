package control_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "ulnet/cmd/internal/control"
)

// TestProfiles: each profile that needs no time can be read, as text too. The text of goroutines
// has the stack of the request.
func TestProfiles(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	client := NewClient(d.path)
	read := func(req ProfileRequest) []byte {
		t.Helper()
		in, err := client.Profile(t.Context(), req)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		defer in.Close()
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		return text
	}
	for _, name := range Profiles() {
		if name == "cpu" || name == "trace" {
			continue
		}
		if _, err := gzip.NewReader(bytes.NewReader(read(ProfileRequest{Name: name}))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		read(ProfileRequest{Name: name, Text: true})
	}
	if text := string(read(ProfileRequest{Name: "goroutine", Text: true})); !strings.Contains(text, "(*Server).profile") {
		t.Errorf("goroutines:\n%s", text)
	}
	if trace := read(ProfileRequest{Name: "trace", Time: time.Millisecond}); !bytes.HasPrefix(trace, []byte("go 1.")) {
		t.Errorf("trace begins with %.20q", trace)
	}
}

// TestProfileRefused: a profile that does not exist, a duration that is out of range, and a second
// recording at the same time are refused. A recording ends when its client disconnects.
func TestProfileRefused(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	get := func(path string) string {
		return d.talk(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	}
	for path, want := range map[string]string{
		"/v1/profile/none":                   "there are allocs, ",
		"/v1/profile/cpu?time=0s":            "want a time up to 5m0s, not 0s",
		"/v1/profile/cpu?time=5m1ns":         "want a time up to 5m0s, not 5m0.000000001s",
		"/v1/profile/cpu?time=x":             "time",
		"/v1/profile/..%2f..%2fetc%2fpasswd": "there is no profile",
	} {
		if answer := get(path); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, want) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	first := d.dial(t)
	if _, err := io.WriteString(first, "GET /v1/profile/cpu?time=5m HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	recording := func() bool { return strings.Contains(get("/v1/profile/goroutine?text=1"), "control.record(") }
	for !recording() { // if the recording never begins, the test ends at its timeout
	}
	if answer := get("/v1/profile/cpu?time=1ms"); !strings.HasPrefix(answer, "HTTP/1.1 409 ") {
		t.Errorf("a second recording: %s", answer)
	}
	first.Close()
	for recording() {
	}
}

// TestProfileIsPrivate: members of the socket's group may read everything else, and no profile.
func TestProfileIsPrivate(t *testing.T) {
	d := serveAs(t, Config{Routes: (&fakeNode{}).routes()}, func() Access { return AccessRead })
	for path, want := range map[string]string{"/v1/profile/heap": "HTTP/1.1 403 ", "/v1/status": "HTTP/1.1 200 "} {
		if answer := d.talk(t, http.MethodGet+" "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, want) {
			t.Errorf("%s: %s", path, answer)
		}
	}
}
