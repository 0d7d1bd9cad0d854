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
		{"5", 5 * time.Second}, // as the kernel's tool has it
		{"500ms", 500 * time.Millisecond},
		{"2147483647", 2147483647 * time.Second},
		{"2147483648", 0},
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
		{"more than there is", []string{"-v", "5"}, 4, 0},
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

func TestSizeFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want sizeValue
		ok   bool
		back string
	}{
		{"0", 0, true, "0"},
		{"1000", 1000, true, "1000"},
		{"64K", 64 << 10, true, "64K"},
		{"64k", 64 << 10, true, "64K"},
		{"4M", 4 << 20, true, "4M"},
		{"4096K", 4 << 20, true, "4M"},
		{"1G", 1 << 30, true, "1G"},
		{"18446744073709551615", 1<<64 - 1, true, "18446744073709551615"},
		{"17179869184G", 0, false, ""},
		{"-1", 0, false, ""},
		{"K", 0, false, ""},
		{"4 M", 0, false, ""},
		{"1.5M", 0, false, ""},
		{"4MB", 0, false, ""},
		{"", 0, false, ""},
	} {
		var s sizeValue
		err := s.Set(test.text)
		if (err == nil) != test.ok || s != test.want {
			t.Errorf("%q: %d, error %v, want %d", test.text, s, err, test.want)
		}
		if test.ok && s.String() != test.back {
			t.Errorf("%q prints as %s, want %s", test.text, &s, test.back)
		}
	}
}
