package route_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/networks"
	"ulnet/lnet/route"
)

// texts returns the texts of routes, sorted.
func texts(list []route.Route) string {
	var all []string
	for _, r := range list {
		all = append(all, r.String())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func TestParse(t *testing.T) {
	spec.Covers(t, "RT-5")
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       string
		err        string // beginning of the error's text
	}{
		{name: "nothing", text: ""},
		{name: "comments", text: "# none; \n # or none\n;;"},
		{name: "plain", text: "tcp1 10.88.0.7@tcp", want: "tcp1 10.88.0.7@tcp"},
		{name: "of the manual", text: "tcp1 2 10.0.0.[1-4/2]@o2ib:1", want: "tcp1 2 10.0.0.1@o2ib:1,tcp1 2 10.0.0.3@o2ib:1"},
		{name: "entries", text: "tcp1 10.88.0.7@tcp # the first; tcp2 10.88.0.8@tcp\n\ttcp3\t3\t10.88.0.9@tcp\r\n", want: "tcp1 10.88.0.7@tcp,tcp2 10.88.0.8@tcp,tcp3 3 10.88.0.9@tcp"},
		{name: "several gateways", text: "tcp1 10.88.0.7@tcp 10.88.0.8@tcp:2", want: "tcp1 10.88.0.7@tcp,tcp1 10.88.0.8@tcp:2"},
		{name: "cross product", text: "o2ib[1-2] 10.88.0.[7-8]@tcp", want: "o2ib1 10.88.0.7@tcp,o2ib1 10.88.0.8@tcp,o2ib2 10.88.0.7@tcp,o2ib2 10.88.0.8@tcp"},
		{name: "brackets everywhere", text: "tcp5 10.[0,9].0.[7-8]@o2ib[0-1]", want: "tcp5 10.0.0.7@o2ib,tcp5 10.0.0.7@o2ib1,tcp5 10.0.0.8@o2ib,tcp5 10.0.0.8@o2ib1,tcp5 10.9.0.7@o2ib,tcp5 10.9.0.7@o2ib1,tcp5 10.9.0.8@o2ib,tcp5 10.9.0.8@o2ib1"},
		{name: "IPv6", text: "tcp1 fd88::4@tcp:3", want: "tcp1 fd88::4@tcp:3"},
		{name: "most hops", text: "tcp1 255 10.88.0.7@tcp", want: "tcp1 255 10.88.0.7@tcp"},
		{name: "no gateway", text: "tcp1", err: "routes at line 1, character 5: want a gateway; an entry looks like"},
		{name: "hops and no gateway", text: "tcp2 10.88.0.7@tcp\ntcp1 2", err: "routes at line 2, character 7: want a gateway"},
		{name: "hops 0", text: "tcp1 0 10.88.0.7@tcp", err: "routes at line 1, character 6: want 1 to 255 hops, not 0"},
		{name: "hops 256", text: "tcp1 256 10.88.0.7@tcp", err: "routes at line 1, character 6: want 1 to 255 hops, not 256"},
		{name: "hops behind the gateway", text: "tcp1 10.88.0.7@tcp 2", err: `routes at line 1, character 20: `},
		{name: "unknown net", text: "ether 10.88.0.7@tcp", err: `routes at line 1, character 1: network "ether": unknown network`},
		{name: "net lo", text: "lo 10.88.0.7@tcp", err: "routes at line 1, character 1: there is no route to lo"},
		{name: "gateway lo", text: "tcp1 0@lo", err: "routes at line 1, character 6: 0@lo is no gateway"},
		{name: "gateway on the net", text: "tcp1 10.88.0.7@tcp1", err: "routes at line 1, character 6: gateway 10.88.0.7@tcp1 is on tcp1 itself"},
		{name: "priority", text: "tcp1 10.88.0.7@tcp:x", err: `routes at line 1, character 6: "x": want a priority from 0`},
		{name: "priority below 0", text: "tcp1 10.88.0.7@tcp:-1", err: `routes at line 1, character 6: "-1": want a priority from 0`},
		{name: "open bracket", text: "tcp1 10.88.0.[7@tcp", err: `routes at line 1, character 6: "[7@tcp": want ']'`},
		{name: "empty range", text: "tcp[3-1] 10.88.0.7@tcp", err: `routes at line 1, character 1: "3-1" has nothing in it`},
		{name: "too many", text: "tcp[1-200] 10.88.[0-9].[1-100]@tcp", err: "routes at line 1, character 12: more than 16384 routes"},
		{name: "too large", text: "tcp1 10.[0-255].[0-255].[0-255]@tcp", err: "routes at line 1, character 6: more than 16384"},
		{name: "too long", text: strings.Repeat("#", 1<<17), err: "routes at line 1, character 65537: longer than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			list, err := route.Parse(test.text)
			if got := texts(list); test.err == "" && (err != nil || got != test.want) {
				t.Fatalf("%s, %v, want %s", got, err, test.want)
			}
			if test.err == "" {
				return
			}
			if _, ok := errors.AsType[*networks.EntryError](err); !ok || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}

// FuzzParse: a route that was parsed can be written, and is parsed to the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "tcp1 10.88.0.7@tcp", "tcp1 2 10.0.0.[1-4/2]@o2ib:1", "o2ib[1-2,7] 10.88.[0-1].[7-8]@tcp[0-1]:3 fd88::4@tcp # x\n;tcp9 1 7@gni",
		"tcp1 10.[0-255].[0-255].[0-255]@tcp", "tcp1 [[1]]@tcp", "tcp1 ]1[@tcp", "tcp1 10.0.0.1@tcp:4294967295",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := route.Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*networks.EntryError](err); !ok {
				t.Errorf("error of type %T: %v", err, err)
			}
			return
		}
		if len(list) > route.MaxRoutes {
			t.Fatalf("%d routes", len(list))
		}
		var lines []string
		for _, r := range list[:min(len(list), 100)] {
			lines = append(lines, r.String())
		}
		again, err := route.Parse(strings.Join(lines, "\n"))
		if err != nil || !slices.Equal(again, list[:min(len(list), 100)]) {
			t.Errorf("%v, %v, want %v", again, err, list)
		}
	})
}
