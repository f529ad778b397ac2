package conform

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/errand-acp/errand/internal/visible"
)

// WriteJUnit writes the report as JUnit XML: a test case for each rule, with its level as
// the class. Broken rules that failOn counts are failures; other broken ones have their
// text as the output of a case that passes; what was not applicable is skipped. An
// incomplete check has a case "complete" with an error, or its reason as output where
// failOn is [Never]. It is well-formed XML 1.0 whatever the agent wrote.
func (r *Report) WriteJUnit(w io.Writer, failOn Level) error {
	suite := junitSuite{Name: "errand check: " + visible.Line(r.title()), Time: seconds(r.Ms), Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05")}
	for _, f := range r.Findings {
		c := junitCase{Name: f.Rule.ID, Class: string(f.Rule.Level)}
		switch {
		case f.failed(failOn):
			c.Failure = &junitText{Message: visible.Line(f.Why), Type: string(f.Rule.Level), Text: f.Text()}
			suite.Failures++
		case f.broken():
			c.Out = f.Text()
		case f.Verdict == NotApplicable:
			c.Skipped = &junitText{Message: visible.Line(f.Why)}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
	}
	if r.Incomplete != "" {
		c := junitCase{Name: "complete", Class: "check"}
		if failOn == Never {
			c.Out = visible.Line(r.Incomplete) + "\n" + r.stops()
		} else {
			c.Error = &junitText{Message: visible.Line(r.Incomplete), Type: "incomplete", Text: r.stops()}
			suite.Errors++
		}
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func seconds(ms int64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.3f", float64(ms)/1000), ".000")
}
