package control

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"time"
)

// None is a request, or an answer, that says nothing.
type None struct{}

// A Route is an operation with what does it: what a server serves, and what the
// documentation of the control socket is made of.
type Route struct {
	Method, Path    string       // who may GET and who may POST is in the comment of the package
	Doc             string       // what it does
	Request, Answer reflect.Type // Answer is nil of a stream that has a format of its own
	Kind            Kind
	Data            bool // follow the request

	long bool
	do   func(*Server, http.ResponseWriter, *http.Request) error
}

// Kind is how an operation is answered.
type Kind string

// The kinds.
const (
	Asks    Kind = "question" // GET, answered by JSON
	Orders  Kind = "command"  // POST, answered by JSON
	Acts    Kind = "action"   // POST, answered by the request
	Steps   Kind = "steps"    // POST, answered by frames
	Streams Kind = "stream"   // GET, answered without end
)

// A Question asks the daemon for something. The fields of its request are the parameters
// of a query, see encodeQuery.
type Question[Req, Answer any] struct {
	Path, Doc string
	Long      bool // it takes long: the number of those that run is bounded
}

// A Command has the daemon do something, and tell what became of it.
type Command[Req, Answer any] struct {
	Path, Doc string
	Long      bool // as of a Question
}

// An Action has the daemon do something of which only its failure is worth telling.
type Action[Req any] struct{ Path, Doc string }

// An Operation has the daemon do something that is told step by step, until it is done or
// the client goes.
type Operation[Req any, S Step[S]] struct{ Path, Doc string }

// A Step is what is told of an operation. It crosses the socket as JSON, and with it the
// payload that is attached to it.
type Step[S any] interface {
	Attached() []byte
	Attach(payload []byte) S // returns the step with a payload
}

// Do makes the route of an operation, as the methods of this name and DoWith do of the
// others; with DoWith data follow the request.
func (o Question[Req, Answer]) Do(do func(context.Context, Req) (Answer, error)) Route {
	r := route[Req, Answer](http.MethodGet, o.Path, o.Doc, Asks)
	r.long = o.Long
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		if err := queryOf(hr, &req); err != nil {
			return err
		}
		// All has been read. Should the deadline pass the server would take that for the end of
		// the connection, and end the context of an answer that takes longer.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		answer, err := do(hr.Context(), req)
		return s.answer(w, answer, err)
	}
	return r
}

// Do is as that of a Question.
func (o Command[Req, Answer]) Do(do func(context.Context, Req) (Answer, error)) Route {
	return o.route(false, func(ctx context.Context, req Req, data io.Reader) (answer Answer, err error) {
		if err = end(data); err == nil {
			answer, err = do(ctx, req)
		}
		return answer, err
	})
}

// DoWith is Do with data.
func (o Command[Req, Answer]) DoWith(do func(context.Context, Req, io.Reader) (Answer, error)) Route {
	return o.route(true, do)
}

func (o Command[Req, Answer]) route(data bool, do func(context.Context, Req, io.Reader) (Answer, error)) Route {
	r := route[Req, Answer](http.MethodPost, o.Path, o.Doc, Orders)
	r.Data, r.long = data, o.Long
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		body, err := request(w, hr, &req)
		if err != nil {
			return err
		}
		answer, err := do(hr.Context(), req, body)
		return s.answer(w, answer, err)
	}
	return r
}

// Do is as that of a Question.
func (o Action[Req]) Do(do func(context.Context, Req) error) Route {
	return o.command().Do(func(ctx context.Context, req Req) (Req, error) { return req, do(ctx, req) }).of(Acts)
}

// DoWith is Do with data.
func (o Action[Req]) DoWith(do func(context.Context, Req, io.Reader) error) Route {
	return o.command().DoWith(func(ctx context.Context, req Req, data io.Reader) (Req, error) {
		return req, do(ctx, req, data)
	}).of(Acts)
}

func (o Action[Req]) command() Command[Req, Req] { return Command[Req, Req]{Path: o.Path, Doc: o.Doc} }

func (r Route) of(kind Kind) Route {
	r.Kind = kind
	return r
}

// Do is as that of a Question.
func (o Operation[Req, S]) Do(do func(context.Context, Req, func(S) error) error) Route {
	return o.route(false, func(ctx context.Context, req Req, _ io.Reader, report func(S) error) error {
		return do(ctx, req, report)
	})
}

// DoWith is Do with data.
func (o Operation[Req, S]) DoWith(do func(context.Context, Req, io.Reader, func(S) error) error) Route {
	return o.route(true, do)
}

func (o Operation[Req, S]) route(data bool, do func(context.Context, Req, io.Reader, func(S) error) error) Route {
	r := route[Req, S](http.MethodPost, o.Path, o.Doc, Steps)
	r.Data, r.long = data, true
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		body, err := request(w, hr, &req)
		if err == nil && !data {
			err = end(body)
		}
		if err != nil {
			return err
		}
		f := s.frames(w)
		f.finish(do(hr.Context(), req, body, func(step S) error { return f.report(step, step.Attached()) }))
		return nil
	}
	return r
}

func route[Req, Answer any](method, path, doc string, kind Kind) Route {
	return Route{Method: method, Path: path, Doc: doc, Request: reflect.TypeFor[Req](), Answer: reflect.TypeFor[Answer](), Kind: kind}
}

// Call asks the daemon of a client.
func (o Question[Req, Answer]) Call(ctx context.Context, c *Client, req Req) (answer Answer, err error) {
	return answer, c.call(ctx, http.MethodGet, encodeQuery(o.Path, req), nil, nil, &answer)
}

// Call has the daemon of a client do it.
func (o Command[Req, Answer]) Call(ctx context.Context, c *Client, req Req) (Answer, error) {
	return o.CallWith(ctx, c, req, nil)
}

// CallWith is Call with data, which may be nil.
func (o Command[Req, Answer]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader) (answer Answer, err error) {
	return answer, c.call(ctx, http.MethodPost, o.Path, req, data, &answer)
}

// Call has the daemon of a client do it.
func (o Action[Req]) Call(ctx context.Context, c *Client, req Req) error {
	return o.CallWith(ctx, c, req, nil)
}

// CallWith is Call with data, which may be nil.
func (o Action[Req]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader) error {
	return c.act(ctx, o.Path, req, data)
}

// Call has the daemon of a client do it, and reports the steps, whose payload is valid
// until report returns.
func (o Operation[Req, S]) Call(ctx context.Context, c *Client, req Req, report func(S) error) error {
	return o.CallWith(ctx, c, req, nil, report)
}

// CallWith is Call with data, which may be nil.
func (o Operation[Req, S]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader, report func(S) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the operation if report failed
	body, err := c.do(ctx, http.MethodPost, o.Path, req, data)
	if err != nil {
		return err
	}
	defer body.Close()
	return c.explain(ctx, readFrames(body, report))
}

// Ask makes what does a question of what needs neither a context nor a request, Told of
// what cannot fail either.
func Ask[Answer any](do func() (Answer, error)) func(context.Context, None) (Answer, error) {
	return func(context.Context, None) (Answer, error) { return do() }
}

// Told is Ask of what cannot fail.
func Told[Answer any](do func() Answer) func(context.Context, None) (Answer, error) {
	return func(context.Context, None) (Answer, error) { return do(), nil }
}

// Quick makes what does a question or a command of what needs no context.
func Quick[Req, Answer any](do func(Req) (Answer, error)) func(context.Context, Req) (Answer, error) {
	return func(_ context.Context, req Req) (Answer, error) { return do(req) }
}

// Act makes what does an action of what needs no context.
func Act[Req any](do func(Req) error) func(context.Context, Req) error {
	return func(_ context.Context, req Req) error { return do(req) }
}

// Just makes what does an action of what needs no request either.
func Just(do func() error) func(context.Context, None) error {
	return func(context.Context, None) error { return do() }
}

// With is Act with data.
func With[Req any](do func(Req, io.Reader) error) func(context.Context, Req, io.Reader) error {
	return func(_ context.Context, req Req, data io.Reader) error { return do(req, data) }
}
