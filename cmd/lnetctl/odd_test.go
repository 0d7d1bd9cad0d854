package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// oddNode is a node whose peers have reported NIDs of every kind.
type oddNode struct {
	status node.Status
	page   node.PeerPage
}

func (n *oddNode) routes() []control.Route {
	return []control.Route{
		node.OpStatus.Do(control.Told(func() node.Status { return n.status })),
		node.OpPeers.Do(control.Quick(n.peers)),
	}
}

func (n *oddNode) peers(r node.PeersRequest) (page node.PeerPage, err error) {
	if !r.NID.IsValid() {
		return n.page, nil
	}
	for _, p := range n.page.Peers {
		if p.NID == r.NID {
			page.Peers = append(page.Peers, p)
		}
	}
	return page, nil
}

// oddPeers are NIDs that a peer can put into a ping info; one of them is ordinary.
var oddPeers = []string{
	"10.0.0.1@tcp", "a000001@<200:7>", "1:2:3:4@<17:0>", "1:200/7@<2:0>", "1@<9:0>", "0@<9:1>", "1@<0:3>",
	"::ffff:10.0.0.1@tcp", "::@tcp9", "<?>", "0@lo", "0xa@gm", "7@kfi65535",
}

func newOddNode() *oddNode {
	n := &oddNode{status: node.Status{PID: nid.LustrePID}}
	n.status.NIs = []node.NIStatus{{NISnapshot: lnet.NISnapshot{NID: nid.MustParse("10.0.0.2@tcp"), Net: "tcp", Status: "up"}}}
	var named []node.PingedNI
	for _, text := range oddPeers {
		id := nid.MustParse(text)
		n.page.Peers = append(n.page.Peers, lnet.PeerSnapshot{NID: id, Via: n.status.NIs[0].NID, Primary: id, State: "up"})
		n.page.Known = append(n.page.Known, node.KnownPeer{Primary: id})
		named = append(named, node.PingedNI{NID: id, Status: wire.StatusUp.String()})
	}
	honest := nid.MustParse("10.0.0.3@tcp")
	n.page.Peers = append(n.page.Peers, lnet.PeerSnapshot{NID: honest, Primary: honest, State: "up"})
	n.page.Known = append(n.page.Known, node.KnownPeer{Primary: nid.MustParse("10.0.0.4@tcp"), NIs: named})
	return n
}

// serveNode starts a daemon with the given routes, which ends with the test.
func serveNode(t *testing.T, routes []control.Route, events *control.Events) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	listening, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- control.New(control.Config{Routes: routes, Events: events}).Serve(ctx, listening)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return socket
}

// TestShowOddNIDs: peers can report NIDs of unknown types and strange addresses. No command that
// shows something leaves anything out because of them.
func TestShowOddNIDs(t *testing.T) {
	f := &fakeServer{socket: serveNode(t, newOddNode().routes(), new(control.Events))}
	for _, verb := range [][]string{{"net", "show"}, {"net", "show", "-v", "3"}, {"stats", "show"}, {"stats", "show", "-v"}, {"peer", "show"}, {"peer", "show", "-v", "3"}} {
		for _, flags := range [][]string{nil, {"--json"}} {
			args := slices.Concat(verb, flags)
			code, out, errs := f.lnetctl(t.Context(), args...)
			if code != 0 || errs != "" {
				t.Errorf("%v: %d, %s", args, code, errs)
			}
			if flags != nil && !json.Valid([]byte(out)) {
				t.Errorf("%v: not JSON:\n%s", args, out)
			}
			if verb[0] != "peer" {
				continue
			}
			for _, text := range append(slices.Clone(oddPeers), "10.0.0.3@tcp", "10.0.0.4@tcp") {
				if !strings.Contains(out, text) {
					t.Errorf("%v does not show %s", args, text)
				}
			}
		}
	}
	for _, text := range []string{"a000001@<200:7>", "10.0.0.3@tcp"} {
		if code, out, errs := f.lnetctl(t.Context(), "peer", "show", text); code != 0 || !strings.Contains(out, text) {
			t.Errorf("peer show %s: %d, %s%s", text, code, out, errs)
		}
	}
}
