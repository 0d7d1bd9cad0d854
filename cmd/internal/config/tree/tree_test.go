package tree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// recorded reads a file that was recorded from Lustre's lnetctl 2.17.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func written(t *testing.T, doc any) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRecorded: an export of a kernel, read and written again, has the same bytes.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"export.yaml", "backup.yaml", "router.yaml", "routing.yaml", "udsp.yaml"} {
		t.Run(name, func(t *testing.T) {
			text := recorded(t, name)
			f, err := Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if bad := f.unknown.first(); bad != nil {
				t.Errorf("a recorded key is unknown: %v", bad)
			}
			tree, err := f.Tree()
			if err != nil {
				t.Fatal(err)
			}
			if got := written(t, tree); got != string(text) {
				t.Errorf("wrote\n%s\nof\n%s", got, text)
			}
		})
	}
}

// TestBackup: the backup is the same as the one that a kernel made of the same state.
func TestBackup(t *testing.T) {
	tree, err := Parse(recorded(t, "export.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := written(t, tree.Backup()), string(recorded(t, "backup.yaml")); got != want {
		t.Errorf("backup is\n%s\nwant\n%s", got, want)
	}
}

// TestReadFull reads a file as an administrator would write it, and checks the result.
func TestReadFull(t *testing.T) {
	tree, err := Parse(recorded(t, "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Net) != 2 || len(tree.Net[0].NIs) != 1 || tree.Net[0].NIs[0].Interfaces[0] != "eth0" {
		t.Fatalf("networks: %+v", tree.Net)
	}
	ni := tree.Net[0].NIs[0]
	if conns, ok := ni.LND.Get("conns_per_peer"); !ok || conns != 2 || *ni.Tunables.PeerCredits != 16 {
		t.Errorf("tunables: %+v %+v", ni.Tunables, ni.LND)
	}
	if len(tree.Peer) != 2 || !tree.Peer[0].MultiRail || tree.Peer[1].MultiRail || len(tree.Peer[0].NIs) != 2 {
		t.Errorf("peers: %+v", tree.Peer)
	}
	if r := tree.Route[0]; r.Net != "tcp2" || *r.Hop != 1 || *r.Priority != 3 {
		t.Errorf("route: %+v", r)
	}
	want := []Setting{{"numa_range", 5}, {"discovery", 1}, {"drop_asym_route", 1}, {"retry_count", 3}, {"transaction_timeout", 60}, {"health_sensitivity", 200}}
	got := tree.Global.Settings()
	if len(got) != len(want) {
		t.Fatalf("settings: %v, want %v", got, want)
	}
	for i, s := range want {
		if got[i] != s {
			t.Errorf("setting %d: %v, want %v", i, got[i], s)
		}
	}
}

// TestReadErrors: errors are the same as those recorded from Lustre's lnetctl, and the items
// before the error are read.
func TestReadErrors(t *testing.T) {
	const ni = "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n"
	for _, c := range []struct {
		text  string
		items int
		want  string // error number and text of each expected error
	}{
		{"nosuch:\n    - a: 1\n", 0, "-22 invalid key 'nosuch'"},
		{ni + "          tunables:\n              peer_credits: many\n", 0, "-22 invalid value 'many' for key 'peer_credits'; -22 Failed to parse tunables rc = -22"},
		{"net:\n    - local NI(s):\n        - interfaces:\n              0: eth0\n", 0, "-22 Malformed input. Expect 'net type' found 'local NI(s)'"},
		{"net: 5\n", 0, "-22 Malformed input. Expect 'net type' found '5'"},
		{"net:\n  - [1, 2]\n", 0, "-22 Malformed input. Expect 'net type' found '1'"},
		{ni + "    - wrong: 1\n", 1, "-22 Malformed input. Expect 'net type' found 'wrong'"},
		{"route:\n    - net: tcp2\n", 0, "-19 missing mandatory parameter: gateway"},
		{"route:\n    - net: tcp2\n      gateway: 10.88.0.7@tcp\n      hop: x\n", 0, "-22 hop has invalid key"},
		{"peer:\n    - primary nid: nosuch\n", 0, "-22 unsupported primary NID"},
		{"peer:\n    - primary nid: 10.88.0.40@tcp\n      peer ni:\n        - nid: nosuch\n", 0, "-22 unsupported secondary NID"},
		{"global:\n    nosuch: 1\n", 0, "-22 invalid key 'nosuch'"},
		{"global:\n    retry_count: 4\n    nosuch: 1\n    transaction_timeout: 70\n", 1, "-22 invalid key 'nosuch'"},
		{ni, 1, ""},
		{ni + "          bogus: 1\n", 1, ""}, // an unknown key is ignored, as by Lustre's tool
		{"net:\n    - net type: tcp\n", 1, ""},
		{"peer:\n    - Multi-Rail: True\n      peer ni:\n        - nid: 10.88.0.40@tcp\n", 0, ""}, // a peer without a primary NID is ignored, as by Lustre's tool
		{"buffers:\n    tiny: 512\n", 1, ""},
		{"routing:\n    enable: 0\n", 1, ""},
		{"routing:\n    - tiny: 2048\n    - enable: 1\n", 2, ""},
	} {
		f, err := Read([]byte(c.text))
		if err != nil || len(f.Sections) != 1 {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var errs []string
		for _, e := range f.Sections[0].Errs {
			errs = append(errs, fmt.Sprintf("%d %s", -int(e.Errno), e.Text))
		}
		if got := strings.Join(errs, "; "); got != c.want || len(f.Sections[0].Items) != c.items {
			t.Errorf("%q: %d items and %q, want %d and %q", c.text, len(f.Sections[0].Items), got, c.items, c.want)
		}
	}
}

// TestRefused: files that would need very much memory, or that are not YAML, are refused.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: &a [x, x]\nnet: [*a, *a]\n", "anchors"},
		{"net: &a\n    - net type: tcp\npeer: *a\n", "anchors"},
		{"net:\n    - net type: tcp\n      local NI(s): &l\n        - nid: 10.0.0.1@tcp\n    - net type: tcp1\n      local NI(s): *l\n", "anchors"},
		{"global:\n    <<: {retry_count: 1}\n", "anchors"},
		{"net:\n\t- a: b\n", "Scanner error"},
		{"net: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "brackets"},
		{"net:\n" + strings.Repeat("- ", 40) + "a\n", "levels"},
		{strings.Repeat("- ", maxLine), "bytes in a line"},
		{strings.Repeat("#\n", MaxSize/2+1), "16 MiB"},
	} {
		name := c.text[:min(len(c.text), 40)]
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", name, err, c.want)
		}
	}
}

// TestUnknownKey: Read finds the first key that is misspelt.
func TestUnknownKey(t *testing.T) {
	f, err := Read([]byte("net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n          tunable:\n              credits: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if bad := f.unknown.first(); bad == nil || bad.Error() != `line 6: unknown key "tunable"` {
		t.Errorf("unknown: %v", bad)
	}
}

// TestErrorLayout: an error is printed in the layout of Lustre's lnetctl.
func TestErrorLayout(t *testing.T) {
	e := &Error{Verb: "add", Object: "net", Errno: 17, Text: "cannot add LNet NI"}
	var got bytes.Buffer
	if err := e.Write(&got); err != nil {
		t.Fatal(err)
	}
	if want := "---\nadd:\n-     net:\n      errno: -17\n      descr: ! \"cannot add LNet NI\"\n...\n"; got.String() != want {
		t.Errorf("wrote %q, want %q", &got, want)
	}
}

// TestWritePlain: null is written as nothing and an empty mapping as {}, on the line of the key. Only the layout of
// libyaml has the tag ! and single quotes around a text, as libyaml writes them.
func TestWritePlain(t *testing.T) {
	type failure struct {
		Ping  *int           `json:"ping"`
		None  map[string]int `json:"none"`
		Descr string         `json:"descr"`
	}
	list := []failure{{nil, map[string]int{}, "it's: \"so\""}, {nil, map[string]int{"a": 1}, "two\nlines"}}
	for key, want := range map[string]string{
		"manage":    "manage:\n- ping:\n  none: {}\n  descr: ! 'it''s: \"so\"'\n- ping:\n  none:\n    a: 1\n  descr: \"two\\nlines\"\n",
		"peer list": "peer list:\n-     ping:\n      none: {}\n      descr: \"it's: \\\"so\\\"\"\n-     ping:\n      none:\n            a: 1\n      descr: \"two\\nlines\"\n",
	} {
		if got := written(t, map[string][]failure{key: list}); got != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
	}
}

// TestWriteTunables: the names and values of tunables can be any text, and are written so that
// they can be read again.
func TestWriteTunables(t *testing.T) {
	doc := &Tree{Net: []Net{{Type: "tcp", NIs: []NI{{LND: LNDTunables{{"a\x01", "\x7f\x02"}, {"b", "7"}}}}}}}
	if got := written(t, doc); !strings.Contains(got, "b: 7\n") {
		t.Errorf("wrote %q", got)
	}
}

// FuzzRead: a file that is read, written and read again has the same contents.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"export.yaml", "backup.yaml", "router.yaml", "routing.yaml", "udsp.yaml", "good.yaml"} {
		f.Add(recorded(f, name))
	}
	f.Add([]byte("net: &a\n - *a\n"))
	f.Add([]byte("net:\n-     net type: 0\n      local NI(s):\n      -\nudsp:\n    -"))
	f.Add([]byte("net:\n-     net type: tcp\n      local NI(s):\n      - lnd tunables:\n          a:"))
	f.Add([]byte("net:\n-     net type: tcp\n      local NI(s):\n      - LND tunables:\n          a: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := Parse(text)
		if err != nil {
			return
		}
		first := written(t, tree)
		again, err := Parse([]byte(first))
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", text, first, err)
		}
		if second := written(t, again); second != first {
			t.Fatalf("%q became %q, then %q", text, first, second)
		}
	})
}

// TestErrorsShowLittle: errors contain words of a file without control characters, and only the
// beginning of long words.
func TestErrorsShowLittle(t *testing.T) {
	for name, text := range map[string]string{
		"key":      "\"a\\e[2Jb" + strings.Repeat("x", 3000) + "\": 1\n",
		"net type": "net: \"\\e[2J" + strings.Repeat("x", 3000) + "\"\n",
		"scalar":   "\"a\\e[2J" + strings.Repeat("x", 3000) + "\"\n",
		"setting":  "global:\n    \"\\e[2J" + strings.Repeat("x", 3000) + "\": 1\n",
		"rubbish":  strings.Repeat("\x00\x1b[2J", 20000),
	} {
		f, err := Read([]byte(text))
		texts := []string{fmt.Sprint(err)}
		if err == nil {
			texts = nil
			for _, s := range f.Sections {
				for _, e := range s.Errs {
					texts = append(texts, e.Error())
				}
			}
			for _, e := range Apply(t.Context(), nil, Add, f).Errs {
				texts = append(texts, e.Error())
			}
		}
		if len(texts) == 0 {
			t.Errorf("%s: no error", name)
		}
		for _, one := range texts {
			if len(one) > 400 || strings.ContainsFunc(one, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s: %d bytes: %.60q", name, len(one), one)
			}
		}
	}
}
