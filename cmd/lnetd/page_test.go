//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/page"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// pageTimeout bounds what a test of the page waits for, on a machine that is slow and busy.
const pageTimeout = time.Minute

// watched is a daemon with a page, and a second server of its cluster, which the test may kill.
type watched struct {
	*lnetdtest.Daemon
	other *lnetdtest.Daemon
	url   string // address of the page, with a slash at its end
}

// startWatched starts both daemons, and waits until each is alive for the other. The settings are for the
// daemon with the page.
func startWatched(t *testing.T, own ...string) *watched {
	t.Helper()
	commands := lnetdtest.Build(t)
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	start := func(host string, settings ...string) *lnetdtest.Daemon {
		settings = append(settings, "gossip:", "  nids: ['127.0.0.[1-2]@tcp']", "  interval: 300ms", "  cold_start: true", "")
		return commands.Start(t, lnetdtest.Config{Networks: "tcp(" + host + ")", Port: port, Settings: settings})
	}
	own = append(own, "metrics: 127.0.0.1:0", "scoll:", "  enable: 1")
	w := &watched{Daemon: start("127.0.0.1", own...), other: start("127.0.0.2")}
	w.url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(w.Log())
	if w.url == "" {
		t.Fatalf("the log does not say where the page is:\n%s", w.Log())
	}
	w.Until(pageTimeout, "second server", func() bool {
		s, err := gossip.OpStatus.Call(t.Context(), w.Control(), control.None{})
		return err == nil && s.Snapshot != nil && s.Snapshot.Alive == 2
	})
	return w
}

// TestPage: the page of a daemon has the numbers of its control socket, and tells the browsers that follow
// the page that a server is dead. Requests under the name of another host are refused.
func TestPage(t *testing.T) {
	spec.Covers(t, "OP-61", "OP-62")
	t.Parallel()
	w := startWatched(t)
	for _, c := range []struct {
		path, host string
		status     int
	}{
		{"", "", 200},
		{"page.js", "localhost", 200},
		{"state", "evil.example", 403},
		{"events", "127.0.0.1.evil.example", 403},
		{"files/index.html", "", 404},
		{"capture", "", 405},
		{"capture.pcapng", "", 404}, // no token is configured, so there are no captures
		{"..%2f..%2fetc/passwd", "", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || answer.Header.Get("Referrer-Policy") != "no-referrer" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q of %q: status %d, want %d, %v", c.path, c.host, answer.StatusCode, c.status, answer.Header)
		}
	}
	w.agrees(t)
	next := w.stream(t)
	w.tellsOfRoutes(t, next)
	w.other.Kill()
	for deadline := time.Now().Add(pageTimeout); ; {
		s := next()
		died := slices.ContainsFunc(s.Events, func(e page.Event) bool { return e.Event == "gossip.died" && e.About == "127.0.0.2@tcp" })
		if g := s.Gossip; died && g != nil && g.Alive == 1 && g.Participants[0].NID.String() == "127.0.0.2@tcp" && g.Participants[0].State == "dead" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the killed server does not turn dead: %+v, events %+v", s.Gossip, s.Events)
		}
	}
}

// tellsOfRoutes adds a route, and checks that the page lists that as an event.
func (w *watched) tellsOfRoutes(t *testing.T, next func() page.State) {
	t.Helper()
	if err := node.OpAddRoutes.Call(t.Context(), w.Control(), node.AddRoutesRequest{Nets: []string{"tcp9"}, Gateways: []string{"127.0.0.2@tcp"}, Hops: 1, Sensitivity: 1}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(pageTimeout); ; {
		s := next()
		if slices.ContainsFunc(s.Events, func(e page.Event) bool { return e.Event == "route.new" && e.About == "tcp9 by 127.0.0.2@tcp" }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the new route is no event: %+v, events %+v", s.Routes, s.Events)
		}
	}
}

// agrees checks that the page has the numbers of the control socket: those that only grow are between
// the numbers before and after the page has read them.
func (w *watched) agrees(t *testing.T) {
	t.Helper()
	before, began := w.Status(), time.Now().UnixMilli()
	var s page.State
	w.Until(pageTimeout, "new state", func() bool {
		s = w.state(t)
		return s.Now.TimeMS > began
	})
	after := w.Status()
	peers, err := node.OpPeers.Call(t.Context(), w.Control(), node.PeersRequest{Limit: node.MaxPeerPage})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(before.NIs, func(n node.NIStatus) bool { return !n.NID.IsLo() })
	first, last, ni := &before.NIs[i], &after.NIs[i], &s.NIs[0]
	for what, n := range map[string][3]uint64{
		"messages sent":           {before.Stats.SendCount, s.Now.Sent.Messages, after.Stats.SendCount},
		"bytes received":          {before.Stats.RecvLength, s.Now.Received.Bytes, after.Stats.RecvLength},
		"messages sent by NI":     {first.Traffic.Sent.Total(), ni.Sent.Messages, last.Traffic.Sent.Total()},
		"bytes received by NI":    {first.Traffic.RecvLength, ni.Received.Bytes, last.Traffic.RecvLength},
		"messages received by NI": {first.Traffic.Received.Total(), ni.Received.Messages, last.Traffic.Received.Total()},
	} {
		if n[0] > n[1] || n[1] > n[2] || n[2] == 0 {
			t.Errorf("%s: %d on the page, %d before and %d after by the control socket", what, n[1], n[0], n[2])
		}
	}
	if ni.NID != first.NID || ni.MaxCredits != first.Tunables.Credits || ni.Status != first.Status || s.Peers.Total != len(peers.Peers) ||
		s.Peers.List[0].NID != peers.Peers[0].NID || s.Peers.List[0].MaxCredits != peers.Peers[0].MaxCredits || s.Gossip.Total != 2 || s.Collectives == nil {
		t.Errorf("the page has %+v,\nthe control socket %+v %+v", s, first, peers.Peers)
	}
}

// state returns the state that the page shows, or none if the daemon does not answer in time.
func (w *watched) state(t *testing.T) (s page.State) {
	t.Helper()
	answer, err := http.Get(w.url + "state")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return s // the daemon has not answered in time
	}
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// stream follows the page. The function next returns the state after the next message.
func (w *watched) stream(t *testing.T) (next func() page.State) {
	t.Helper()
	answer, err := http.Get(w.url + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	var s page.State
	return func() page.State {
		for lines.Scan() {
			if text, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				if err := json.Unmarshal(text, &s); err != nil {
					t.Fatal(err)
				}
				return s
			}
		}
		t.Fatal("the stream has ended: ", lines.Err())
		return s
	}
}

// TestNoPage: with metrics_page off the metrics are served, and no page.
func TestNoPage(t *testing.T) {
	t.Parallel()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	socket := t.TempDir() + "/m"
	lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(127.0.0.1)", Port: port, Settings: []string{"metrics: " + socket, "metrics_page: off"}})
	for path, want := range map[string]int{"/": 404, "/state": 404, "/events": 404, "/metrics": 200} {
		if status, body := get(t, socket, path); status != want || status == 404 && !strings.Contains(body, "no such page") {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
}
