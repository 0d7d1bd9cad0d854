package console_test

import (
	"encoding/json"
	"reflect"
	"syscall"
	"testing"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// TestConfig: all numbers of the machine are in the agent's configuration, under the same names.
func TestConfig(t *testing.T) {
	var c console.Config
	from := reflect.ValueOf(&c).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(i + 1))
		}
	}
	to := reflect.ValueOf(c.Engine())
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		switch f := from.FieldByName(name); {
		case name == "FirstID", name == "FirstStamp": // New derives these from the node
		case !f.IsValid() || !f.Equal(to.Field(i)):
			t.Errorf("%s is %v", name, to.Field(i))
		}
	}
}

// TestJSON: what commands return can be sent as JSON, as the control socket of the daemon does.
func TestJSON(t *testing.T) {
	id := nid.ProcessID{NID: nid.MustParse("10.0.0.1@tcp"), PID: nid.LustrePID}
	session := wire.Session{Console: id.NID, Stamp: 7}
	for _, want := range []any{
		console.Session{Name: "one", ID: session, Key: 1 << 31, Features: 1, Timeout: time.Minute, Nodes: console.Counts{Active: 1, Total: 2, Down: 1}},
		console.Group{Name: "g", Nodes: []console.Node{{ID: id, State: console.Busy}}, Counts: console.Counts{Busy: 1, Total: 1}},
		console.Answer{ID: id, State: console.Down, Failed: syscall.ETIMEDOUT, Session: wire.NoSession(), Latency: time.Second},
		console.Answer{ID: id, State: console.Active, Status: syscall.EBUSY, Session: session, Name: "n", Timeout: time.Hour, Active: 3, Server: true, Stat: &wire.StatReply{Session: session, LNet: wire.LNetStats{SentBytes: 1 << 63}}},
		console.Batch{Name: "b", Running: true, Tests: []console.TestInfo{{Test: console.Test{Batch: "b", Service: wire.BRWService, Loop: -1, BRW: wire.BRWParams{Op: wire.Write, Length: 8}}}}},
		console.Target{Nodes: []nid.ProcessID{id}},
		console.Traffic{Nodes: 3, Sent: console.Figure{Avg: 1.5}},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(want))
		if err := json.Unmarshal(text, got.Interface()); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(got.Elem().Interface(), want) {
			t.Errorf("%s becomes %+v", text, got.Elem())
		}
	}
}
