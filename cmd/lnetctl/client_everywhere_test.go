package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestClientListEverywhere: CH-61: one table shows the views of all servers, one line for each
// view. Views that differ are marked, and servers that did not answer are named.
func TestClientListEverywhere(t *testing.T) {
	spec.Covers(t, "CH-61")
	f := serveFake(t)
	clients := fakeClients()
	view := func(c *health.ClientInfo, servers ...nid.NID) healthmod.ClientView {
		return healthmod.ClientView{Servers: servers, Incarnation: c.Incarnation, State: c.State, Master: c.Master, Epoch: c.Epoch, Peer: c.Peer}
	}
	f.everywhere = healthmod.EverywhereList{
		Clients: []healthmod.ClientEverywhere{
			{Client: clients[0].Client, Name: "compute-1", Views: []healthmod.ClientView{view(&clients[0], serverOne, serverTwo)}},
			{Client: clients[1].Client, Differ: true, Views: []healthmod.ClientView{view(&clients[1], serverOne), view(&clients[0], serverTwo)}},
		},
		More: true, Differ: 1, Servers: []nid.NID{serverOne, serverTwo},
	}
	code, out, errs := f.lnetctl(t.Context(), "client", "list", "--all-servers", "--differ", "--limit", "2")
	want := fmt.Sprintf(`CLIENT                            NAME       STATE      MASTER        EPOCH  LIFE  PEER                 SERVERS
%[1]v  compute-1  connected  10.0.0.1@tcp  2      7     12345-10.0.0.11@tcp  all 2
%[2]v  -          orphaned   10.0.0.2@tcp  1      9     12345-10.0.0.12@tcp  10.0.0.1@tcp (differs)
%[2]v  -          connected  10.0.0.1@tcp  2      7     12345-10.0.0.11@tcp  10.0.0.2@tcp (differs)
servers disagree about 1 of 2 clients; it is of no account for some seconds after a choice of a master
`, clients[0].Client, clients[1].Client)
	if diff := cmp.Diff(want, out); code != cli.OK || diff != "" || errs != "the first 2 clients; --limit has more of them listed\n" {
		t.Errorf("%d (-want +got):\n%s%s", code, diff, errs)
	}
	if want := (healthmod.EverywhereFilter{Limit: 2, Differ: true}); len(f.asked) != 1 || f.asked[0] != want {
		t.Errorf("asked for %+v", f.asked)
	}
	f.everywhere.Servers, f.everywhere.Unreached = f.everywhere.Servers[:1], []scoll.Unreached{{NID: serverTwo, Error: "dead"}}
	code, out, errs = f.lnetctl(t.Context(), "client", "list", "--all-servers", "--json")
	var list healthmod.EverywhereList
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != cli.Failed || len(list.Clients) != 2 || list.Unreached[0] != f.everywhere.Unreached[0] {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
	wanted := "the first 2 clients; --limit has more of them listed\nlnetctl: 1 of 2 servers did not answer:\n  10.0.0.2@tcp: dead\n  'lnetctl server list' shows who is dead, 'scollctl ping' who answers\n"
	if diff := cmp.Diff(wanted, errs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"--all-servers", "--state", "orphaned"}, {"--differ"}, {"--all-servers", "--limit", "0"}} {
		if code, _, errs := f.lnetctl(t.Context(), append([]string{"client", "list"}, args...)...); code != cli.Usage {
			t.Errorf("%v: %d\n%s", args, code, errs)
		}
	}
}
