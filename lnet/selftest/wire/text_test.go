package wire_test

import (
	"encoding/json"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// named has a field of each type that JSON has as text.
type named struct {
	Session wire.Session
	Service wire.Service
	Op      wire.BRWOp
	Check   wire.Check
}

// TestJSON: values are names in JSON, or numbers if they have no name, and are read back unchanged.
func TestJSON(t *testing.T) {
	spec.Covers(t, "ST-46")
	id := wire.Session{Console: nid.MustParse("10.77.0.10@tcp"), Stamp: -5}
	for _, tt := range []struct {
		value named
		want  string
	}{
		{named{id, wire.BRWService, wire.Write, wire.CheckFull}, `{"Session":"-5@10.77.0.10@tcp","Service":"brw","Op":"write","Check":"full"}`},
		{named{wire.NoSession(), wire.PingService, 0, 0}, `{"Session":"none","Service":"ping","Op":"","Check":""}`},
		{named{id, 99, 7, 1 << 20}, `{"Session":"-5@10.77.0.10@tcp","Service":"99","Op":"7","Check":"1048576"}`},
	} {
		b, err := json.Marshal(tt.value)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s, %v, want %s", b, err, tt.want)
		}
		var again named
		if err := json.Unmarshal(b, &again); err != nil || again != tt.value {
			t.Errorf("%+v, %v, want %+v", again, err, tt.value)
		}
	}
}

// TestJSONRefused: texts that stand for no value are errors, and the field does not change.
func TestJSONRefused(t *testing.T) {
	spec.Covers(t, "ST-46")
	for _, text := range []string{
		`{"Session":"x@10.77.0.10@tcp"}`, `{"Session":"5"}`, `{"Session":"5@nowhere"}`, `{"Session":""}`, `{"Session":"99999999999999999999@10.77.0.10@tcp"}`,
		`{"Service":"nosuch"}`, `{"Service":"-1"}`, `{"Service":"4294967296"}`, `{"Service":""}`, `{"Op":"sideways"}`, `{"Check":"half"}`,
	} {
		var v named
		if err := json.Unmarshal([]byte(text), &v); err == nil || v != (named{}) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}
