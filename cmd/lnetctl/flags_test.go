package main

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestTimeoutFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want time.Duration // 0 for an error
	}{
		{"500", 500 * time.Millisecond},
		{"5s", 5 * time.Second},
		{"1m30s", 90 * time.Second},
		{"0", 0},
		{"-1s", 0},
		{"soon", 0},
		{"99999999999999999999", 0},
	} {
		c := new(cobra.Command)
		v := timeoutFlag(c, "timeout", "")
		err := c.ParseFlags([]string{"--timeout", test.text})
		if (err == nil) != (test.want > 0) || err == nil && v.value != test.want {
			t.Errorf("%s: %v, error %v, want %v", test.text, v.value, err, test.want)
		}
	}
}

func TestVerbosity(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		level int // -1 for an error
		rest  int
	}{
		{"none", nil, 0, 0},
		{"short", []string{"-v"}, 1, 0},
		{"short with level", []string{"-v", "2"}, 2, 0},
		{"long with level", []string{"--verbose=3"}, 3, 0},
		{"NID and level", []string{"10.0.0.1@tcp", "-v", "4"}, 4, 1},
		{"a number without -v", []string{"2"}, 0, 1},
		{"too much", []string{"-v", "5"}, -1, 0},
		{"negative", []string{"--verbose=-1"}, -1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := new(cobra.Command)
			level := addVerbose(c)
			if err := c.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			rest, err := takeLevel(c, level, c.Flags().Args())
			if (err != nil) != (test.level < 0) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (*level != test.level || len(rest) != test.rest) {
				t.Errorf("level %d, %d arguments, want %d and %d", *level, len(rest), test.level, test.rest)
			}
		})
	}
}
