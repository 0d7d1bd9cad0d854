package nid

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int
		ends  string // first and last NID of the result
		fails string
	}{
		{text: "192.168.[1-2].[1-128/2]@o2ib0", count: 128, ends: "192.168.1.1@o2ib 192.168.2.127@o2ib"},
		{text: "10.0.0.[1,3-5]@tcp 10.0.0.9@tcp", count: 5, ends: "10.0.0.1@tcp 10.0.0.9@tcp"},
		{text: "10.0.0.1@tcp 10.0.0.1@tcp", count: 2, ends: "10.0.0.1@tcp 10.0.0.1@tcp"},
		{text: "[3-5]@gni", count: 3, ends: "3@gni 5@gni"},
		{text: "[4294967290-4294967295]@gni", count: 6, ends: "4294967290@gni 4294967295@gni"},
		{text: "10.1.2.0/29@tcp", count: 8, ends: "10.1.2.0@tcp 10.1.2.7@tcp"},
		{text: "255.255.255.254/31@tcp", count: 2, ends: "255.255.255.254@tcp 255.255.255.255@tcp"},
		{text: "::ffff:10.1.2.0/125@tcp", count: 8, ends: "10.1.2.0@tcp 10.1.2.7@tcp"},
		{text: "::ffff:10.1.2.3@tcp", count: 1, ends: "10.1.2.3@tcp 10.1.2.3@tcp"},
		{text: "fd88::1@tcp", count: 1, ends: "fd88::1@tcp fd88::1@tcp"},
		{text: "10.0.*.*@tcp", fails: "more than 1000"},
		{text: "*.*.*.*@tcp", fails: "more than 1000"},
		{text: "[0-4294967295]@gni", fails: "more than 1000"},
		{text: "10.0.0.*@tcp 10.0.1.*@tcp 10.0.2.*@tcp 10.0.3.*@tcp", fails: "more than 1000"},
		{text: "10.0.0.0/8@tcp", fails: "more than 1000"},
		{text: "*@tcp", fails: "whole network"},
		{text: "all", fails: "whole network"},
	} {
		set, err := ParseSet(c.text)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := set.Expand(1000)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.text, err, c.fails)
			}
			continue
		}
		if err != nil || len(ids) != c.count {
			t.Errorf("%s: %d NIDs, %v, want %d", c.text, len(ids), err, c.count)
			continue
		}
		if ends := ids[0].String() + " " + ids[len(ids)-1].String(); ends != c.ends {
			t.Errorf("%s: %s, want %s", c.text, ends, c.ends)
		}
		for _, id := range ids {
			if !set.Has(id) {
				t.Errorf("%s: %v is not in the set", c.text, id)
			}
		}
	}
}

func TestExpandText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, want, err string
	}{
		{text: "", want: ""},
		{text: "tcp", want: "tcp"},
		{text: "tcp[1-3]", want: "tcp1 tcp2 tcp3"},
		{text: "10.[0,7].0.[2-6/2]@o2ib", want: "10.0.0.2@o2ib 10.0.0.4@o2ib 10.0.0.6@o2ib 10.7.0.2@o2ib 10.7.0.4@o2ib 10.7.0.6@o2ib"},
		{text: "[4294967294-4294967295]", want: "4294967294 4294967295"},
		{text: "a[0-9][0-9]", err: "more than 99"},
		{text: "a[0-4294967295]", err: "more than 99"},
		{text: "a[1", err: `"[1": want ']'`},
		{text: "a[]", err: `"": want a number`},
		{text: "a[[1]]", err: `"[1": want a number`},
		{text: "a]", want: "a]"},
	} {
		got, err := ExpandText(test.text, 99)
		if text := strings.Join(got, " "); test.err == "" && (err != nil || text != test.want) {
			t.Errorf("%q: %q, %v, want %q", test.text, text, err, test.want)
		}
		if test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), test.err)) {
			t.Errorf("%q: %v, want %s", test.text, err, test.err)
		}
	}
}
