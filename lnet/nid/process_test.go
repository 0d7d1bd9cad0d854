package nid

import (
	"errors"
	"testing"
)

func TestProcessID(t *testing.T) {
	addr := MustParse("10.0.0.9@tcp")
	tests := []struct {
		text    string
		want    ProcessID
		printed string
	}{
		{"12345-10.0.0.9@tcp", ProcessID{addr, LustrePID}, "12345-10.0.0.9@tcp"},
		{"10.0.0.9@tcp", ProcessID{addr, LustrePID}, "12345-10.0.0.9@tcp"},
		{"10.0.0.9", ProcessID{addr, LustrePID}, "12345-10.0.0.9@tcp"},
		{"0-10.0.0.9@tcp", ProcessID{addr, 0}, "0-10.0.0.9@tcp"},
		{"U51234-10.0.0.9@tcp", ProcessID{addr, 51234 | UserPID}, "U51234-10.0.0.9@tcp"},
		{"2147534882-10.0.0.9@tcp", ProcessID{addr, 51234 | UserPID}, "U51234-10.0.0.9@tcp"},
		{"U2147483646-10.0.0.9@tcp", ProcessID{addr, 0xFFFFFFFE}, "U2147483646-10.0.0.9@tcp"},
		{"LNET_PID_ANY-10.0.0.9@tcp", ProcessID{addr, PIDAny}, "LNET_PID_ANY-10.0.0.9@tcp"},
		{"4294967295-10.0.0.9@tcp", ProcessID{addr, PIDAny}, "LNET_PID_ANY-10.0.0.9@tcp"},
		{"LNET_PID_ANY-<?>", ProcessID{Any(), PIDAny}, "LNET_PID_ANY-<?>"},
		{"12345-2001:db8::1@tcp", ProcessID{MustParse("2001:db8::1"), LustrePID}, "12345-2001:db8::1@tcp"},
		{"12345-0@lo", ProcessID{Lo0(), LustrePID}, "12345-0@lo"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			id, err := ParseProcessID(tt.text)
			if err != nil || id != tt.want || !id.IsValid() {
				t.Fatalf("ParseProcessID = %v, %v, want %v", id, err, tt.want)
			}
			if id.String() != tt.printed {
				t.Errorf("prints %q, want %q", id, tt.printed)
			}
		})
	}
}

func TestProcessIDErrors(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"", errAddress},
		{"-", errPID},
		{"-10.0.0.9@tcp", errPID},
		{"x-10.0.0.9@tcp", errPID},
		{"U-10.0.0.9@tcp", errPID},
		{"UU1-10.0.0.9@tcp", errPID},
		{"u1-10.0.0.9@tcp", errPID},
		{"+1-10.0.0.9@tcp", errPID},
		{"0x1-10.0.0.9@tcp", errPID},
		{"U2147483648-10.0.0.9@tcp", errPID},
		{"4294967296-10.0.0.9@tcp", errPID},
		{"12345-", errAddress},
		{"12345-10.0.0.9@foo", errNet},
		{"1-2-10.0.0.9@tcp", errAddress},
	}
	for _, tt := range tests {
		if id, err := ParseProcessID(tt.text); !errors.Is(err, tt.want) || id != (ProcessID{}) {
			t.Errorf("ParseProcessID(%q) = %v, %v, want %v", tt.text, id, err, tt.want)
		}
	}
}

func TestPIDString(t *testing.T) {
	for pid, want := range map[PID]string{
		LustrePID: "12345", 0: "0", PIDAny: "LNET_PID_ANY", UserPID: "U0", UserPID | 7: "U7",
	} {
		if pid.String() != want {
			t.Errorf("PID %#x prints %q, want %q", uint32(pid), pid, want)
		}
	}
}

func TestProcessIDCompare(t *testing.T) {
	a, b := MustParse("10.0.0.1"), MustParse("10.0.0.2")
	ordered := []ProcessID{{}, {a, 1}, {a, PIDAny}, {b, 0}, {Any(), 0}}
	for i, p := range ordered {
		for j, q := range ordered {
			if got, want := p.Compare(q), sign(i-j); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", p, q, got, want)
			}
		}
	}
	if (ProcessID{PID: LustrePID}).IsValid() {
		t.Error("valid without a NID")
	}
}

func FuzzParseProcessID(f *testing.F) {
	for _, s := range []string{"12345-10.0.0.9@tcp", "U51234-10.0.0.9@tcp", "LNET_PID_ANY-<?>", "10.0.0.9", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseProcessID(s)
		if err != nil {
			return
		}
		if back, err := ParseProcessID(id.String()); err != nil || back != id {
			t.Fatalf("%q prints as %q, which parses to %v, %v", s, id, back, err)
		}
	})
}
