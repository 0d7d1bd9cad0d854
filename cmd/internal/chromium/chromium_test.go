package chromium

import (
	"encoding/json"
	"testing"
)

// TestMessages: an answer has a result or an error, and an event keeps its parameters for its tab.
func TestMessages(t *testing.T) {
	var m message
	if err := json.Unmarshal([]byte(`{"method":"Log.entryAdded","params":{"entry":{"level":"error","text":"x","url":"u"}},"sessionId":"s"}`), &m); err != nil || m.ID != 0 || m.Session != "s" {
		t.Fatalf("%+v %v", m, err)
	}
	tab := &Tab{}
	tab.note(m.Method, m.event)
	tab.note("Network.requestWillBeSent", json.RawMessage(`{"request":{"url":"http://127.0.0.1/"}}`))
	tab.note("Log.entryAdded", json.RawMessage(`{"entry":{"level":"info"}}`))
	tab.note("Runtime.consoleAPICalled", json.RawMessage(`{"type":"log"}`))
	tab.note("Runtime.consoleAPICalled", json.RawMessage(`{"type":"error"}`))
	tab.note("Runtime.exceptionThrown", json.RawMessage(`[]`))
	if e, r := tab.Errors(), tab.Requests(); len(e) != 2 || e[0] != "x u" || len(r) != 1 || r[0] != "http://127.0.0.1/" {
		t.Errorf("%q %q", e, r)
	}
	m = message{}
	if err := json.Unmarshal([]byte(`{"id":3,"error":{"message":"no"}}`), &m); err != nil || m.ID != 3 || m.Error.Message != "no" {
		t.Errorf("%+v %v", m, err)
	}
}
