package control

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// OpReport asks for the questions that "lnetctl bugreport" asks, as paths with queries, the most important ones first.
// The daemon makes the list of its routes, so that a new question is in reports without being named elsewhere.
var OpReport = Question[None, []string]{Path: "/v1/report", Doc: "the questions that a bug report asks", Unasked: "is what a report begins with"}

// reportRoute returns the route of OpReport. Its function needs the server, whose routes it lists.
func reportRoute() Route {
	r := OpReport.Do(nil)
	r.do = (*Server).listQuestions
	return r
}

// listQuestions answers OpReport: with questions of the node first, because its routes come first.
func (s *Server) listQuestions(w http.ResponseWriter, _ *http.Request) error {
	list := []string{}
	for _, r := range slices.Concat(OwnRoutes(), s.cfg.Routes) {
		if path, err := r.Asked(); err == nil && path != "" {
			list = append(list, path)
		}
	}
	return s.answer(w, list, nil)
}

// Asked returns the path and query with which a bug report asks a question, or "" if it does not: then the question's
// Unasked says why, or the route is not that of a Question: a stream, for example, has payload of messages, or no end. An
// error says what the question must set.
func (r *Route) Asked() (string, error) {
	switch {
	case r.Kind != Asks || r.Unasked != "":
		if r.Report != "" {
			return "", fmt.Errorf("%s: remove Report, since no report asks this", r.Path)
		}
		return "", nil
	case strings.Contains(r.Path, "{"):
		return "", fmt.Errorf("%s: set Unasked to the reason why 'lnetctl bugreport' does not ask this: the path has a parameter", r.Path)
	case r.Report == "" && len(queryFields(reflect.New(r.Request).Interface())) > 0:
		return "", fmt.Errorf(`%s: set Report to the parameters with which "lnetctl bugreport" asks this, such as "?limit=1000", or "?" for none; or Unasked to the reason why it does not ask`, r.Path)
	case r.Report != "" && r.Report[0] != '?':
		return "", fmt.Errorf("%s: Report begins with ?", r.Path)
	}
	u, err := url.Parse(r.Path + r.Report)
	if err == nil {
		err = queryOf(&http.Request{URL: u}, reflect.New(r.Request).Interface())
	}
	if err != nil {
		return "", fmt.Errorf("%s: Report is %q: %w", r.Path, r.Report, err)
	}
	return strings.TrimSuffix(r.Path+r.Report, "?"), nil
}
