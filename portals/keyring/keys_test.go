package keyring_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
)

// TestParse checks which keys and which errors Parse returns for key files. No error shows a key.
func TestParse(t *testing.T) {
	spec.Covers(t, "KR-3")
	for _, test := range []struct {
		name, text string
		want       []string
		err        error
		says       string
	}{
		{"one line", one + "\n", []string{one}, nil, ""},
		{"no end of line", one, []string{one}, nil, ""},
		{"white space", "\n  " + one + "\t\r\n\n", []string{one}, nil, ""},
		{"two, the first signs", one + "\n" + two + "\n", []string{one, two}, nil, ""},
		{"comments", "# new\n" + two + "\n # old\n" + one, []string{two, one}, nil, ""},
		{"blank inside", "sixteen bytes or more\n", []string{"sixteen bytes or more"}, nil, ""},
		{"one line that looks like a comment", "#" + one + "\n", []string{"#" + one}, nil, ""},
		{"empty", "\n", nil, keyring.ErrCount, "there are 0"},
		{"comments only", "# " + one + "\n# " + two, nil, keyring.ErrCount, "there are 0"},
		{"three", one + "\n" + two + "\n" + one + "3\n", nil, keyring.ErrCount, "there are 3"},
		{"short", one + "\nsecret\n", nil, keyring.ErrShort, "line 2: a key needs at least 16 bytes"},
		{"twice", one + "\n" + one + " \n", nil, keyring.ErrSame, ""},
	} {
		keys, err := keyring.Parse([]byte(test.text))
		var got []string
		for _, k := range keys.All() {
			got = append(got, string(k))
		}
		if !errors.Is(err, test.err) || fmt.Sprint(got) != fmt.Sprint(test.want) || keys.Len() != len(test.want) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), one) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestNewKeys: keys that a program passes are checked as those in a file are.
func TestNewKeys(t *testing.T) {
	spec.Covers(t, "KR-3")
	for _, test := range []struct {
		keys []string
		err  error
	}{
		{nil, keyring.ErrCount},
		{[]string{one[1:]}, keyring.ErrShort},
		{[]string{one, one}, keyring.ErrSame},
		{[]string{one, two, one + two}, keyring.ErrCount},
		{[]string{one, two}, nil},
	} {
		var keys [][]byte
		for _, k := range test.keys {
			keys = append(keys, []byte(k))
		}
		if got, err := keyring.NewKeys(keys...); !errors.Is(err, test.err) || err != nil && got != (keyring.Keys{}) {
			t.Errorf("%q: %v, %v", test.keys, got, err)
		}
	}
}

// TestKeysAreNotShown: keys, and structs with keys, print as the number of keys.
func TestKeysAreNotShown(t *testing.T) {
	spec.Covers(t, "KR-4")
	type config struct{ Keys keyring.Keys }
	c := config{keysOf(t, one, two)}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("keys", "config", c, "keys", c.Keys)
	for _, shown := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %q %s", c, c, c, c), string(text), log.String()} {
		if strings.Contains(shown, one) || strings.Contains(shown, two) || !strings.Contains(shown, "2 keys") {
			t.Error(shown)
		}
	}
}
