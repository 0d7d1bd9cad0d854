package node_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
)

// freshNode starts a node without networks, with a port that is free on the addresses that
// randomTree uses.
func freshNode(t *testing.T) *node.Node {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("127.0.1.2"), netip.MustParseAddr("127.0.1.3"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := newTCPNode(t, func(c *config.Config) { c.Networks, c.AcceptPort = "lo", int(port) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// exported returns the configuration of a node as text.
func exported(t *testing.T, n *node.Node, of func(*tree.Tree) *tree.Tree) string {
	t.Helper()
	now, err := n.Editor().Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tree.Write(&b, of(now)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// imported applies the text of a configuration to a node, and fails the test unless all of it
// was applied.
func imported(t *testing.T, n *node.Node, text string) {
	t.Helper()
	f, err := tree.Read([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if r := tree.Apply(t.Context(), n.Editor(), tree.Add, f); len(r.Errs) > 0 {
		t.Fatalf("%v (%v) in\n%s", r.Errs, r.Errs[0].Cause, text)
	}
}

// TestImportExport: a randomly configured node is exported in each form, and importing each form
// gives the same configuration. The form Backup has only what a kernel node has.
func TestImportExport(t *testing.T) {
	for seed := range uint64(effort.Of(6, 40, 400)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first := freshNode(t)
			imported(t, first, text(t, randomTree(rand.New(rand.NewPCG(seed, 0)))))
			for _, form := range []struct {
				name     string
				of, same func(*tree.Tree) *tree.Tree
			}{
				{"whole", (*tree.Tree).Exported, (*tree.Tree).Saved},
				{"saved", (*tree.Tree).Saved, (*tree.Tree).Saved},
				{"backup", (*tree.Tree).Backup, (*tree.Tree).Backup},
			} {
				export, want := exported(t, first, form.of), exported(t, first, form.same)
				second := freshNodeInstead(t, first)
				imported(t, second, export)
				if got := exported(t, second, form.same); got != want {
					t.Fatalf("the %s export made another node:\n%s\nwant\n%s", form.name, got, want)
				}
				first = second
			}
		})
	}
}

// freshNodeInstead starts a new node, after it has removed the networks of the old one, which
// has the addresses that the new one needs.
func freshNodeInstead(t *testing.T, old *node.Node) *node.Node {
	t.Helper()
	for _, net := range []string{"tcp", "tcp1", "tcp2", "tcp3"} {
		_, _ = old.RemoveNet(t.Context(), node.RemoveRequest{Net: net}) // fails with ENOENT for a network that the node does not have
	}
	return freshNode(t)
}

func text(t *testing.T, doc *tree.Tree) string {
	t.Helper()
	var b bytes.Buffer
	if err := tree.Write(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// randomTree returns a configuration that a node can have, on addresses of the loopback.
func randomTree(r *rand.Rand) *tree.Tree {
	t := &tree.Tree{Global: randomGlobal(r)}
	for i := range 1 + r.IntN(3) {
		n := tree.Net{Type: []string{"tcp", "tcp1", "tcp2", "tcp3"}[i]}
		for j := range 1 + r.IntN(3) {
			n.NIs = append(n.NIs, randomNI(r, nid.MustParse(fmt.Sprintf("127.0.1.%d@%s", 1+j, n.Type))))
		}
		t.Net = append(t.Net, n)
	}
	for i := range r.IntN(4) {
		gateway := nid.MustParse(fmt.Sprintf("127.0.2.%d@tcp", 1+r.IntN(3)))
		route := tree.Route{Net: fmt.Sprintf("tcp%d", 10+i), Gateway: gateway, Hop: new(-1), Priority: new(r.IntN(3))}
		if r.IntN(2) == 0 {
			route.Hop, route.Sensitivity = new(1+r.IntN(255)), 1+r.IntN(10)
		}
		t.Route = append(t.Route, route)
	}
	for i := range r.IntN(4) {
		p := tree.Peer{Primary: nid.MustParse(fmt.Sprintf("127.0.3.%d@tcp", 1+i)), MultiRail: r.IntN(3) > 0}
		for j := 0; p.MultiRail && j < r.IntN(3); j++ {
			p.NIs = append(p.NIs, tree.PeerNI{NID: nid.MustParse(fmt.Sprintf("127.0.%d.%d@tcp%d", 4+j, 1+i, 1+j))})
		}
		t.Peer = append(t.Peer, p)
	}
	t.UDSP = randomRules(r)
	if r.IntN(2) == 0 {
		t.Buffers = &tree.Buffers{Tiny: new(1 + r.IntN(4096)), Small: new(1 + r.IntN(4096)), Large: new(1 + r.IntN(64))}
	}
	if r.IntN(2) == 0 {
		t.Routing = &tree.Routing{Enable: new(1)}
	}
	return t
}

func randomNI(r *rand.Rand, id nid.NID) tree.NI {
	ni := tree.NI{NID: id, Tunables: &tree.Tunables{PeerTimeout: new(1 + r.IntN(300)), PeerCredits: new(1 + r.IntN(64)), Credits: new(64 + r.IntN(512))}}
	if r.IntN(2) == 0 {
		ni.Tunables.PeerBufferCredits = new(1 + r.IntN(64))
		ni.LND = tree.LNDTunables{{Name: "conns_per_peer", Value: fmt.Sprint(1 + r.IntN(8))}, {Name: "tos", Value: fmt.Sprint(r.IntN(64) * 4)}}
		ni.CPT = "[0,1]"
	}
	return ni
}

func randomGlobal(r *rand.Rand) *tree.Global {
	g := new(tree.Global)
	for _, one := range tree.NodeSettings() {
		s := tree.Setting{Name: one.Name, Value: one.Least + r.Int64N(one.Most-one.Least+1)}
		switch s.Name {
		case "recovery_interval": // always the default, because setting it has no effect
			s.Value = one.Usual
		case "transaction_timeout": // its value in seconds must be larger than retry_count
			s.Value = max(s.Value, 6)
		}
		if r.IntN(3) > 0 {
			g.Set(s)
		}
	}
	return g
}

func randomRules(r *rand.Rand) (list []tree.UDSP) {
	action := func() *tree.UDSPAction { return &tree.UDSPAction{Priority: r.Uint32N(9)} }
	for _, u := range []tree.UDSP{
		{Src: "tcp1", Action: action()},
		{Dst: "127.0.3.[1-9/2]@tcp", Action: action()},
		{Rte: "127.0.2.1@tcp", Action: action()},
		{Src: "127.0.1.1@tcp", Dst: "tcp"},
		{Dst: "tcp10", Rte: "127.0.2.[1-3]@tcp"},
	} {
		if r.IntN(2) == 0 {
			u.Index = len(list)
			list = append(list, u)
		}
	}
	return list
}

// TestImportKernel imports configurations that were recorded on kernel nodes, with addresses of
// the loopback interface.
func TestImportKernel(t *testing.T) {
	for _, name := range []string{"export.yaml", "backup.yaml", "router.yaml", "udsp.yaml", "good.yaml"} {
		t.Run(name, func(t *testing.T) {
			host := "5"
			if name == "router.yaml" {
				host = "7"
			}
			recorded, err := os.ReadFile(filepath.Join("..", "config", "tree", "testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range [][2]string{{"10.88.", "127.88."}, {"10.89.", "127.89."}, {"0: eth0", "0: 127.88.0." + host}, {"0: eth1", "0: 127.89.0." + host}} {
				recorded = bytes.ReplaceAll(recorded, []byte(change[0]), []byte(change[1]))
			}
			n := freshNode(t)
			imported(t, n, string(recorded))
			want := map[nid.NID]bool{nid.MustParse("127.88.0." + host + "@tcp"): true, nid.MustParse("127.89.0." + host + "@tcp1"): true}
			for _, id := range n.NIDs() {
				delete(want, id)
			}
			if len(want) > 0 {
				t.Errorf("missing are %v of %v", want, n.NIDs())
			}
			again, err := tree.Read(recorded)
			if err != nil {
				t.Fatal(err)
			}
			now, err := n.Editor().Tree(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Diff(now, again); len(d) > 0 && name != "export.yaml" {
				t.Errorf("after the import there are differences: %v", d)
			}
		})
	}
}

// TestImportEnds: an import that is interrupted reports that, and keeps what it has already
// applied.
func TestImportEnds(t *testing.T) {
	n := freshNode(t)
	f, err := tree.Read([]byte("global:\n    retry_count: 3\n    drop_asym_route: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := n.Editor()
	change := e.Change
	e.Change = func(c context.Context, s node.Setting) error {
		cancel()
		return change(c, s)
	}
	r := tree.Apply(ctx, e, tree.Add, f)
	if len(r.Done) != 1 || len(r.Errs) != 1 || r.Errs[0].Text != "interrupted: 1 of 2 items were applied" {
		t.Errorf("done %v, errors %v", r.Done, r.Errs)
	}
	var shape bytes.Buffer
	want := "---\nadd:\n-     import:\n      errno: -4\n      descr: ! \"interrupted: 1 of 2 items were applied\"\n...\n"
	if err := r.Errs[0].Write(&shape); err != nil || shape.String() != want {
		t.Errorf("printed as %q, want %q", &shape, want)
	}
	if s := n.Status(); s.Health.RetryCount != 3 || s.Routing.DropAsymmetric {
		t.Errorf("retry count %d, drop %v", s.Health.RetryCount, s.Routing.DropAsymmetric)
	}
}
