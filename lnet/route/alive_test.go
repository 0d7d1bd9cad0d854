package route_test

import (
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

const (
	near = "10.88.0.7@tcp"
	far  = "10.89.0.7@tcp1"
)

// gateway returns a gateway that has answered its check. The functions given as change modify
// it.
func gateway(change ...func(*route.Gateway)) route.Gateway {
	g := route.Gateway{
		Alive: true, Checked: true, Discovery: true, Routes: true,
		NIs: []route.NI{{NID: nid.MustParse(near), Health: 1000}, {NID: nid.MustParse(far), Health: 1000}},
	}
	for _, f := range change {
		f(&g)
	}
	return g
}

func down(i int) func(*route.Gateway) { return func(g *route.Gateway) { g.NIs[i].Down = true } }

func health(i, v int) func(*route.Gateway) { return func(g *route.Gateway) { g.NIs[i].Health = v } }
func nearOnly(g *route.Gateway)            { g.NIs = g.NIs[:1] }
func unanswered(g *route.Gateway)          { g.Alive = false }
func unchecked(g *route.Gateway)           { g.Alive, g.Checked, g.Routes, g.NIs = true, false, false, g.NIs[:1] }
func routingOff(g *route.Gateway)          { g.Routes = false }
func cut(g *route.Gateway)                 { g.Cut = true }
func noDiscovery(g *route.Gateway)         { g.Discovery = false }
func second(s string) func(*route.Gateway) {
	return func(g *route.Gateway) { g.NIs = append(g.NIs, route.NI{NID: nid.MustParse(s), Health: 1000}) }
}

// TestJudge checks each row of the table of lnet-semantics §12.3, which says when a route is alive.
func TestJudge(t *testing.T) {
	spec.Covers(t, "RT-9", "RT-10", "RT-11", "RT-21")
	t.Parallel()
	asymmetric := func(s *route.Settings) { s.AvoidAsymmetric = false }
	checkFirst := func(s *route.Settings) { s.CheckFirst = true }
	percent := func(n int) func(*route.Settings) { return func(s *route.Settings) { s.Sensitivity = n } }
	for _, test := range []struct {
		name     string
		gateway  route.Gateway
		hops     int // hops of the route; 0: undefined
		settings func(*route.Settings)
		down     string // beginning of the reason; empty: the route is alive
		multi    bool
	}{
		{name: "all well", gateway: gateway()},
		{name: "not checked", gateway: gateway(unchecked), multi: true},
		{name: "not checked, to be checked first", gateway: gateway(unchecked), settings: checkFirst, multi: true, down: "the gateway was not checked yet"},
		{name: "no answer", gateway: gateway(unanswered), down: "the gateway did not answer"},
		{name: "no net in common", gateway: gateway(cut), down: "this node has no NI on a net of the gateway"},
		{name: "not checked, no net in common", gateway: gateway(unchecked, cut), multi: true, down: "this node has no NI on a net of the gateway"},
		{name: "no answer, discovery off", gateway: gateway(unanswered, noDiscovery), down: "the gateway did not answer"},
		{name: "near NI down", gateway: gateway(down(0)), down: "no NI of the gateway on tcp is up"},
		{name: "near NI down, another up", gateway: gateway(down(0), second("10.88.1.7@tcp"))},
		{name: "near NI sick", gateway: gateway(health(0, 999)), down: "no NI of the gateway on tcp is up"},
		{name: "near NI as healthy as it must be", gateway: gateway(health(0, 800)), settings: percent(80)},
		{name: "near NI not as healthy", gateway: gateway(health(0, 799)), settings: percent(80), down: "no NI of the gateway on tcp is up"},
		{name: "health does not count", gateway: gateway(health(0, 0)), settings: percent(0)},
		{name: "far NI down", gateway: gateway(down(1)), down: "no NI of the gateway on tcp1 is up"},
		{name: "far NI sick", gateway: gateway(health(1, 900)), down: "no NI of the gateway on tcp1 is up"},
		{name: "far NI down, another up", gateway: gateway(down(1), second("10.89.1.7@tcp1"))},
		{name: "far NI down, asymmetric", gateway: gateway(down(1)), settings: asymmetric},
		{name: "more hops", gateway: gateway(nearOnly), hops: 2, multi: true},
		{name: "undefined hops, not on the net", gateway: gateway(nearOnly), multi: true},
		{name: "one hop, not on the net", gateway: gateway(nearOnly), hops: 1, down: "no NI of the gateway on tcp1 is up"},
		{name: "one hop, not on the net, asymmetric", gateway: gateway(nearOnly), hops: 1, settings: asymmetric},
		{name: "more hops, and on the net", gateway: gateway(down(1)), hops: 2, down: "no NI of the gateway on tcp1 is up"},
		{name: "routing off", gateway: gateway(routingOff), down: "the gateway says that it does not route"},
		{name: "discovery off", gateway: gateway(noDiscovery)},
		{name: "discovery off, sick", gateway: gateway(noDiscovery, health(0, 0), health(1, 0))},
		{name: "discovery off, far NI down", gateway: gateway(noDiscovery, down(1)), down: "no NI of the gateway on tcp1 is up"},
		{name: "discovery off, routing off", gateway: gateway(noDiscovery, routingOff), down: "the gateway says that it does not route"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := route.DefaultSettings()
			if test.settings != nil {
				test.settings(&s)
			}
			r := to("tcp1", near)
			if test.hops != 0 {
				r.Hops = test.hops
			}
			v := test.gateway.Judge(r, s)
			if v.Alive != (test.down == "") || !strings.HasPrefix(v.Reason, test.down) || v.SingleHop == test.multi {
				t.Errorf("%+v, want down %q, multi-hop %v", v, test.down, test.multi)
			}
		})
	}
}

// TestRevive: a message from behind a gateway shows that it is alive.
func TestRevive(t *testing.T) {
	spec.Covers(t, "RT-12")
	t.Parallel()
	g := gateway(unanswered, down(0), down(1), second("10.90.0.7@tcp2"), down(2))
	r, s := to("tcp1", near), route.DefaultSettings()
	if !g.Revive(nid.MustParse(near), nid.MustParseNet("tcp1")) {
		t.Error("that a message came is no news")
	}
	if v := g.Judge(r, s); !v.Alive {
		t.Errorf("the route is down: %s", v.Reason)
	}
	if v := g.Judge(to("tcp2", near), s); v.Alive {
		t.Error("a message from tcp1 has revived the route to tcp2")
	}
	if g.Revive(nid.MustParse(near), nid.MustParseNet("tcp1")) {
		t.Error("a second message is news")
	}
}
