package tree

import (
	"strings"
	"testing"
)

// TestWrongTypes: an error says what a value must be, without naming the types of this package.
func TestWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		"peer:\n- primary nid: 10.1.0.7@tcp\n  Multi-Rail: maybe\n":                                                                 "Expect true or false for 'Multi-Rail' found string",
		"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: d0\n    tunables:\n      peer_credits: many\n":            "line 7: invalid value 'many' for key 'peer_credits'",
		"route:\n- net: [o2ib]\n  gateway: 10.1.0.7@tcp\n":                                                                          "Expect a text for 'net' found array",
		"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: d0\n    tunables: many\n":                                 "Expect keys with values for 'tunables' found string",
		"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: d0\n    tunables:\n      credits: 99999999999999999999\n": "line 7: invalid value '99999999999999999999' for key 'credits'",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestUnknownKeyWarns: import ignores a key without a meaning, as Lustre's tool does, and warns of it.
func TestUnknownKeyWarns(t *testing.T) {
	const ni = "net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: d0\n    tunables:\n      peer_credits: 3\n"
	for text, want := range map[string]string{ni: "", ni + "      peer_creditz: 3\n": `line 8: unknown key "peer_creditz" is ignored`} {
		f, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Warnings, "\n"); got != want {
			t.Errorf("warnings %q, want %q", got, want)
		}
	}
}
