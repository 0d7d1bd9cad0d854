package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnet/nid"
)

// TestBaseWatch: the watch shows the members of a base zone that are new, that have a new
// incarnation, or that have left. The order in which members are listed does not matter.
func TestBaseWatch(t *testing.T) {
	member := func(name string, inc uint64) zone.Named {
		id, err := zone.NewID(name, nid.MustParse("10.0.0.1@tcp"))
		if err != nil {
			t.Fatal(err)
		}
		return zone.Named{ID: id, Version: zone.Version{Inc: inc, Minor: 1}}
	}
	var out strings.Builder
	w := baseWatcher{g: &globals{}, out: &out, zone: "rack1"}
	for _, look := range []struct {
		members []zone.Named
		want    []string
	}{
		{[]zone.Named{member("b", 1), member("a", 1)}, []string{"joined a 1.1", "joined b 1.1"}},
		{[]zone.Named{member("a", 1), member("b", 1)}, nil},
		{[]zone.Named{member("c", 1), member("b", 2)}, []string{"left a 1.1", "left b 1.1", "joined b 2.1", "joined c 1.1"}},
		{nil, []string{"left b 2.1", "left c 1.1"}},
	} {
		out.Reset()
		if err := w.look(time.Unix(1, 0), look.members); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, line := range look.want {
			fields := strings.Fields(line)
			want += fmt.Sprintf("%s  %-10s %s=10.0.0.1@tcp %s of zone rack1\n", time.Unix(1, 0).Local().Format(timeLayout), fields[0], fields[1], fields[2])
		}
		if out.String() != want {
			t.Errorf("%v:\n%swant\n%s", look.members, out.String(), want)
		}
	}
}
