package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// routesFile returns a file with a network and n routes by one gateway. The routes whose numbers are in
// bad have a gateway on a network that the node is not on.
func routesFile(t *testing.T, n int, bad ...int) *tree.File {
	t.Helper()
	var b strings.Builder
	b.WriteString("net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.1.1@tcp\nroute:\n")
	for i := range n {
		gateway := "127.0.1.9@tcp"
		if slices.Contains(bad, i) {
			gateway = "127.0.1.9@tcp65000"
		}
		fmt.Fprintf(&b, "    - net: tcp%d\n      gateway: %s\n      hop: %d\n", 1+i, gateway, 1+i%3)
	}
	f, err := tree.Read([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// importRoutes applies a file to a node, and returns the number of requests that added routes.
func importRoutes(t *testing.T, n *node.Node, v tree.Verb, f *tree.File) (r tree.Result, requests int) {
	t.Helper()
	e := n.Editor()
	add := e.AddRoutes
	e.AddRoutes = func(ctx context.Context, r node.AddRoutesRequest) error { requests++; return add(ctx, r) }
	return tree.Apply(t.Context(), e, v, f), requests
}

// TestImportManyRoutes: a file's routes are added by few requests, because each request changes the whole
// table of routes. If the node has some of the routes already, AddMissing adds only the missing ones.
func TestImportManyRoutes(t *testing.T) {
	n := freshNode(t)
	const few = 1000
	r, requests := importRoutes(t, n, tree.Add, routesFile(t, few))
	if len(r.Errs) > 0 || len(r.Done) != few+1 || requests > few/tree.RoutesAtOnce+1 {
		t.Fatalf("%d items by %d requests, errors %v", len(r.Done), requests, r.Errs)
	}
	if got := n.RoutesNow(); len(got) != few || got[4].Net != "tcp5" || got[4].Hops != 2 {
		t.Errorf("%d routes, the fifth %+v", len(got), got[4])
	}
	const missing = 200
	for i := range missing {
		if err := n.RemoveRoute(node.RemoveRouteRequest{Net: fmt.Sprintf("tcp%d", 101+i), Gateway: "127.0.1.9@tcp"}); err != nil {
			t.Fatal(err)
		}
	}
	r, requests = importRoutes(t, n, tree.AddMissing, routesFile(t, few))
	if len(r.Errs) > 0 || len(r.Done) != missing || len(r.Warnings) != few-missing || len(n.RoutesNow()) != few || requests > 2*few {
		t.Errorf("again: %d items by %d requests, %d warnings, errors %v, %d routes", len(r.Done), requests, len(r.Warnings), r.Errs, len(n.RoutesNow()))
	}
}

// TestImportRoutesFails: the import of the section of routes ends at the first route that cannot be added.
// The routes before it stay.
func TestImportRoutesFails(t *testing.T) {
	for _, bad := range []int{0, 1, 255, 256, 300} {
		n := freshNode(t)
		r, _ := importRoutes(t, n, tree.Add, routesFile(t, 400, bad))
		if len(r.Errs) != 1 || r.Errs[0].Errno != syscall.EHOSTUNREACH || r.Errs[0].Line != 6+3*bad || len(r.Done) != 1+bad || len(n.RoutesNow()) != bad {
			t.Errorf("route %d: errors %v, %d items, %d routes", bad, r.Errs, len(r.Done), len(n.RoutesNow()))
		}
	}
}

// TestRoutesAtOnce: a request with the longest routes of a file fits into 64 KiB, which every operation of the control
// socket takes.
func TestRoutesAtOnce(t *testing.T) {
	var longest node.AddRoutesRequest
	for range tree.RoutesAtOnce {
		longest.Routes = append(longest.Routes, tree.Route{
			Net: "o2ib65535", Gateway: nid.MustParse("fd00:1111:2222:3333:4444:5555:6666:7777@tcp65534"), Hop: new(255), Priority: new(1<<31 - 1), Sensitivity: 1000,
		})
	}
	if text, err := json.Marshal(longest); err != nil || len(text) >= 64<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestListRequests: requests with the largest number of the longest NIDs are not longer than their operations take.
func TestListRequests(t *testing.T) {
	longest := nid.MustParse("fd00:1111:2222:3333:4444:5555:6666:7777@tcp65534")
	routes := node.AddRoutesRequest{Nets: []string{"o2ib65535"}, Hops: 255, Priority: 1<<31 - 1, Sensitivity: 1000}
	for range route.MaxRoutes {
		routes.Gateways = append(routes.Gateways, longest.String())
	}
	ids := slices.Repeat([]nid.NID{longest}, node.MaxPeersAtOnce)
	for name, c := range map[string]struct {
		request any
		most    int
	}{
		"add routes":  {routes, node.OpAddRoutes.Most},
		"add peers":   {node.AddPeerRequest{Primary: longest, Peers: ids, NonMR: true}, node.OpAddPeer.Most},
		"add NIDs":    {node.AddPeerRequest{Primary: longest, NIDs: ids}, node.OpAddPeer.Most},
		"remove NIDs": {node.RemovePeerRequest{Primary: longest, NIDs: ids}, node.OpRemovePeer.Most},
	} {
		if text, err := json.Marshal(c.request); err != nil || len(text) >= c.most {
			t.Errorf("%s: %d bytes of %d, %v", name, len(text), c.most, err)
		}
	}
}
