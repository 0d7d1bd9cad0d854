package lnetsim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestLayout checks the nets and rails of each node, and its routes to other nets.
func TestLayout(t *testing.T) {
	spec.Covers(t, "LS-1")
	l := layout{nodes: 6, nets: 2, rails: 2, routers: 2}
	var got []string
	for id := range sim.NodeID(6) {
		var on []string
		for _, at := range l.interfaces(id) {
			on = append(on, fmt.Sprintf("%v/%d", at.Net, at.Rail))
		}
		var routes []string
		for _, r := range l.routes(id) {
			routes = append(routes, fmt.Sprintf("%v %v", r.Net, r.Gateway))
		}
		got = append(got, fmt.Sprintf("%d: %s; %s", id+1, strings.Join(on, " "), strings.Join(routes, ", ")))
	}
	want := []string{
		"1: tcp/0 tcp/1 tcp1/0 tcp1/1; ",
		"2: tcp/0 tcp/1 tcp1/0 tcp1/1; ",
		"3: tcp/0 tcp/1; tcp1 10.0.0.1@tcp, tcp1 10.0.0.2@tcp",
		"4: tcp/0 tcp/1; tcp1 10.0.0.1@tcp, tcp1 10.0.0.2@tcp",
		"5: tcp1/0 tcp1/1; tcp 10.0.0.1@tcp1, tcp 10.0.0.2@tcp1",
		"6: tcp1/0 tcp1/1; tcp 10.0.0.1@tcp1, tcp 10.0.0.2@tcp1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("nodes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		from, to sim.NodeID
		want     string
	}{{2, 5, "10.0.0.6@tcp1"}, {5, 2, "10.0.0.3@tcp"}, {5, 0, "10.0.0.1@tcp1"}, {0, 5, "10.0.0.6@tcp1"}, {0, 1, "10.0.0.2@tcp"}} {
		if got := l.name(c.from, c.to).String(); got != c.want {
			t.Errorf("node %d calls node %d %s, want %s", c.from+1, c.to+1, got, c.want)
		}
	}
	for _, bad := range []layout{
		{nodes: 4, nets: 2, rails: 1}, {nodes: 4, nets: 1, rails: 1, routers: 1}, {nodes: 4, nets: 3, rails: 1, routers: 2}, {nodes: 4, nets: 1, rails: 9},
	} {
		if bad.validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestRailVerbs: LNet is told of a rail that is unplugged, even in the next incarnation of its
// node. It is not told of a rail that is severed. No message passes either of them.
func TestRailVerbs(t *testing.T) {
	spec.Covers(t, "LS-2")
	run := func(text string) string {
		t.Helper()
		f, err := scenario.Parse("test", []byte("protocol lnet\nnodes 2\nrun 30s\nset rate 0\nset timeout 5s\nset discovery off\n"+text), []*scenario.Protocol{Protocol})
		if err != nil {
			t.Fatal(err)
		}
		res, err := scenario.Run(t.Context(), f, scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Expects {
			if !o.OK {
				return fmt.Sprintf("%s at %v: %s", o.Text, o.At, o.Why)
			}
		}
		return ""
	}
	for _, text := range []string{
		"at 1s do 1 unplug 1\nat 2s do 1 put 2\nexpect failed = 1 within 1ms\n",
		"at 1s do 1 unplug 1\nat 2s kill 1\nat 3s restart 1\nat 4s do 1 put 2\nexpect failed = 1 within 1ms\n",
		"at 1s do 1 sever 1\nat 2s do 1 put 2\nexpect failed = 1 within 10s\nnever failed = 1 from 2s to 2.9s\n",
		"at 1s do 1 sever 1\nat 2s do 1 mend 1\nat 3s do 1 put 2\nexpect answered = 1 within 1s\n",
		"at 1s do 1 unplug 1\nat 2s do 1 plug 1\nat 3s do 1 put 2\nexpect answered = 1 within 1s\n",
	} {
		if why := run(text); why != "" {
			t.Errorf("%s\n%s", text, why)
		}
	}
}

// TestRailLostAtBothEnds: when all nodes lose the same rail at once, each sends its push to a NID that is out of reach by then.
// The push is repeated after 3 s by the other rail, and after that no message takes the lost one.
func TestRailLostAtBothEnds(t *testing.T) {
	spec.Covers(t, "NS-2", "PD-27")
	f, err := scenario.Parse("test", []byte(`protocol lnet
nodes 4
run 60s
set rails 2
set rate 5
set timeout 30s
at 5s do all stop
at 6s do all unplug 1
at 10s do all probe
at 11s do all probe
at 12s do all probe
expect all-answered within 1s
`), []*scenario.Protocol{Protocol})
	if err != nil {
		t.Fatal(err)
	}
	res, err := scenario.Run(t.Context(), f, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Expects {
		if !o.OK {
			t.Errorf("%s at %v: %s", o.Text, o.At, o.Why)
		}
	}
}
