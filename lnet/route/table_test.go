package route_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

var own = []nid.NID{nid.MustParse("0@lo"), nid.MustParse("10.88.0.5@tcp"), nid.MustParse("10.1.0.5@o2ib")}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// to returns a route with the defaults of the tunable. The functions given as change modify it.
func to(net, gateway string, change ...func(*route.Route)) route.Route {
	r := route.Route{Hops: route.UndefinedHops, Sensitivity: 1}
	if net != "" {
		r.Net = nid.MustParseNet(net)
	}
	if gateway != "" {
		r.Gateway = nid.MustParse(gateway)
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func hops(n int) func(*route.Route)        { return func(r *route.Route) { r.Hops = n } }
func priority(n int) func(*route.Route)    { return func(r *route.Route) { r.Priority = n } }
func sensitivity(n int) func(*route.Route) { return func(r *route.Route) { r.Sensitivity = n } }

func TestAdd(t *testing.T) {
	spec.Covers(t, "RT-1", "RT-2")
	t.Parallel()
	const gw = "10.88.0.7@tcp"
	anyNet := func(r *route.Route) { r.Net = nid.Any().Net() }
	anyGateway := func(r *route.Route) { r.Gateway = nid.Any() }
	for _, test := range []struct {
		name string
		r    route.Route
		want error
	}{
		{name: "plain", r: to("tcp1", gw)},
		{name: "least hops", r: to("tcp1", gw, hops(1))},
		{name: "most hops", r: to("tcp1", gw, hops(255))},
		{name: "priority", r: to("tcp1", gw, priority(7))},
		{name: "IPv6 net beyond", r: to("tcp9", "10.1.0.9@o2ib")},
		{name: "no gateway", r: to("tcp1", ""), want: syscall.EINVAL},
		{name: "any gateway", r: to("tcp1", gw, anyGateway), want: syscall.EINVAL},
		{name: "loopback gateway", r: to("tcp1", "0@lo"), want: syscall.EINVAL},
		{name: "no net", r: to("", gw), want: syscall.EINVAL},
		{name: "any net", r: to("tcp1", gw, anyNet), want: syscall.EINVAL},
		{name: "loopback net", r: to("lo", gw), want: syscall.EINVAL},
		{name: "gateway on the net", r: to("tcp1", "10.89.0.7@tcp1"), want: syscall.EINVAL},
		{name: "gateway on the local net", r: to("tcp", gw), want: syscall.EINVAL},
		{name: "no hops", r: to("tcp1", gw, hops(0)), want: syscall.EINVAL},
		{name: "too many hops", r: to("tcp1", gw, hops(256)), want: syscall.EINVAL},
		{name: "hops below undefined", r: to("tcp1", gw, hops(-2)), want: syscall.EINVAL},
		{name: "priority below 0", r: to("tcp1", gw, priority(-1)), want: syscall.EINVAL},
		{name: "sensitivity 0", r: to("tcp1", gw, sensitivity(0)), want: syscall.EINVAL},
		{name: "sensitivity above a whole health", r: to("tcp1", gw, sensitivity(1001)), want: syscall.EINVAL},
		{name: "itself", r: to("tcp1", "10.88.0.5@tcp"), want: syscall.EINVAL},
		{name: "local net", r: to("o2ib", gw), want: syscall.EEXIST},
		{name: "local net by a gateway beyond", r: to("o2ib", "10.89.0.7@tcp1"), want: syscall.EEXIST},
		{name: "gateway beyond", r: to("tcp2", "10.89.0.7@tcp1"), want: syscall.EHOSTUNREACH},
		{name: "gateway of the other size", r: to("tcp2", "fd88::7@tcp"), want: syscall.EHOSTUNREACH},
	} {
		t.Run(test.name, func(t *testing.T) {
			var table route.Table
			if err := table.Add(test.r, own, random(1)); !errors.Is(err, test.want) {
				t.Fatalf("Add(%v): %v, want %v", test.r, err, test.want)
			}
			if got, want := table.Of(test.r.Net), test.want == nil; (len(got) == 1) != want || table.Len() == 1 != want {
				t.Errorf("routes %v", got)
			}
		})
	}
}

func TestAddTwice(t *testing.T) {
	spec.Covers(t, "RT-1")
	t.Parallel()
	var table route.Table
	if err := table.Add(to("tcp1", "10.88.0.7@tcp"), own, random(1)); err != nil {
		t.Fatal(err)
	}
	if err := table.Add(to("tcp1", "10.88.0.7@tcp", hops(3), priority(1)), own, random(1)); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("the same gateway: %v, want EEXIST", err)
	}
	if err := table.Add(to("tcp2", "10.88.0.7@tcp"), own, random(1)); err != nil {
		t.Errorf("another net: %v", err)
	}
	if err := table.Add(to("tcp1", "10.1.0.7@o2ib"), own, random(1)); err != nil {
		t.Errorf("another gateway: %v", err)
	}
	if got := len(table.All()); got != 3 || table.Len() != 3 {
		t.Errorf("%d routes, Len %d, want 3", got, table.Len())
	}
}

func TestDelete(t *testing.T) {
	spec.Covers(t, "RT-1")
	t.Parallel()
	var table route.Table
	for _, g := range []string{"10.88.0.7@tcp", "10.88.0.8@tcp"} {
		if err := table.Add(to("tcp1", g), own, random(1)); err != nil {
			t.Fatal(err)
		}
	}
	before := table.Of(nid.MustParseNet("tcp1"))
	kept := slices.Clone(before)
	net, gw := nid.MustParseNet("tcp1"), nid.MustParse("10.88.0.7@tcp")
	for _, want := range []error{nil, syscall.ENOENT} {
		if err := table.Delete(net, gw); !errors.Is(err, want) {
			t.Errorf("Delete: %v, want %v", err, want)
		}
	}
	if !slices.Equal(before, kept) {
		t.Errorf("a list that was handed out has changed to %v", before)
	}
	if err := table.Delete(net, nid.MustParse("10.88.0.8@tcp")); err != nil {
		t.Error(err)
	}
	if table.Len() != 0 || len(table.Nets()) != 0 {
		t.Errorf("left: %v", table.All())
	}
}

// TestRandomPosition: each position among the routes of a net is as likely as the others.
func TestRandomPosition(t *testing.T) {
	spec.Covers(t, "RT-3")
	t.Parallel()
	const tables = 4000
	rnd := random(7)
	var first [4]int
	for range tables {
		var table route.Table
		for i := range first {
			if err := table.Add(to("tcp1", fmt.Sprintf("10.88.0.%d@tcp", 7+i)), own, rnd); err != nil {
				t.Fatal(err)
			}
		}
		first[table.Of(nid.MustParseNet("tcp1"))[0].Gateway.Addr().As4()[3]-7]++
	}
	for i, n := range first {
		if n < tables/len(first)*8/10 || n > tables/len(first)*12/10 {
			t.Errorf("gateway %d is the first of %d in %d tables of %d, want about a quarter: %v", i, len(first), n, tables, first)
		}
	}
}

// TestAddAll: with the same random numbers, AddAll puts routes at the same positions as calls of Add for
// one route each. If one of the routes cannot be added, AddAll adds none.
func TestAddAll(t *testing.T) {
	spec.Covers(t, "RT-1", "RT-3")
	t.Parallel()
	var one, all route.Table
	first, second := random(3), random(3)
	for size := range 40 {
		var list []route.Route
		for i := range size {
			list = append(list, to(fmt.Sprintf("tcp%d", 1+i%3), fmt.Sprintf("10.88.%d.%d@tcp", size, 7+i)))
		}
		for _, r := range list {
			if err := one.Add(r, own, first); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.AddAll(list, own, second); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.All(), all.All()) || one.Len() != all.Len() {
			t.Fatalf("%d more: %v, want %v", size, all.All(), one.All())
		}
	}
	err := all.AddAll([]route.Route{to("tcp7", "10.88.0.7@tcp"), one.All()[0]}, own, second)
	if !errors.Is(err, syscall.EEXIST) || len(all.Of(nid.MustParseNet("tcp7"))) != 0 || all.Len() != one.Len() {
		t.Errorf("a batch with a route that is there: %v, %d routes", err, all.Len())
	}
}

// TestDeleteFunc: the routes that the function names are removed and returned, the others keep their
// order, and a list that was handed out does not change.
func TestDeleteFunc(t *testing.T) {
	spec.Covers(t, "RT-1")
	t.Parallel()
	var table route.Table
	for i := range 9 {
		if err := table.Add(to(fmt.Sprintf("tcp%d", 1+i%3), fmt.Sprintf("10.88.0.%d@tcp", 7+i)), own, random(1)); err != nil {
			t.Fatal(err)
		}
	}
	del := func(r route.Route) bool { return r.Net.Num() == 2 || r.Gateway.Addr().As4()[3] < 10 }
	all, list := table.All(), table.Of(nid.MustParseNet("tcp1"))
	kept := slices.Clone(list)
	gone := table.DeleteFunc(del)
	want := slices.DeleteFunc(slices.Clone(all), del)
	if got := table.All(); !slices.Equal(got, want) || table.Len() != len(want) || len(gone) != len(all)-len(want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if len(table.Nets()) != 2 || !slices.Equal(list, kept) {
		t.Errorf("nets %v, and the list has changed to %v", table.Nets(), list)
	}
}

func TestTableIsBounded(t *testing.T) {
	spec.Covers(t, "RT-4")
	t.Parallel()
	var table route.Table
	rnd := random(1)
	for i := range route.MaxRoutes {
		if err := table.Add(to(fmt.Sprintf("tcp%d", 1+i%1000), fmt.Sprintf("10.88.%d.7@tcp", i/1000)), own, rnd); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Add(to("tcp1", "10.88.0.99@tcp"), own, rnd); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one more: %v, want ENOSPC", err)
	}
	if table.Len() != route.MaxRoutes {
		t.Errorf("%d routes", table.Len())
	}
}

func TestApply(t *testing.T) {
	spec.Covers(t, "RT-5")
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       string
		routes     bool
		passed     []error
	}{
		{name: "two gateways", text: "tcp1 2 10.88.0.[7,8]@tcp:1", want: "tcp1 2 10.88.0.7@tcp:1,tcp1 2 10.88.0.8@tcp:1"},
		{name: "twice, not reached, local", text: "tcp1 10.88.0.7@tcp; tcp1 10.88.0.7@tcp; tcp2 10.9.0.7@tcp7; o2ib 10.88.0.7@tcp", want: "tcp1 10.88.0.7@tcp", passed: []error{syscall.EEXIST, syscall.EHOSTUNREACH, syscall.EEXIST}},
		{name: "this node is a gateway", text: "tcp1 10.88.0.[5,7]@tcp", want: "tcp1 10.88.0.7@tcp", routes: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := route.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var table route.Table
			applied, err := table.Apply(list, own, random(1))
			if applied.Router != test.routes || err != nil || !slices.EqualFunc(applied.Passed, test.passed, errors.Is) {
				t.Errorf("Apply: %+v, %v", applied, err)
			}
			if got := texts(table.All()); got != test.want {
				t.Errorf("routes %s, want %s", got, test.want)
			}
		})
	}
}
