package conform_test

import (
	"context"
	"fmt"
	"os"

	"github.com/errand-acp/errand/internal/conform"
	"github.com/errand-acp/errand/internal/script"
)

// mustNotFail stands for a *testing.T where there is none.
type mustNotFail struct{}

func (mustNotFail) Helper()           {}
func (mustNotFail) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// An agent that claims to support whatever version it is asked for.
func ExampleRun() {
	path, args := script.Command(mustNotFail{}, `on initialize
  answer {"protocolVersion": $params.protocolVersion}`)
	report, err := conform.Run(context.Background(), conform.Command{Path: path, Args: args}, &conform.Options{Only: []string{"initialize-*version"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for _, f := range report.Findings {
		fmt.Printf("%s %s: %s\n", f.Verdict, f.Rule.ID, f.Why)
	}
	fmt.Println(report.Counts)
	// Output:
	// pass initialize-version: version 1 was asked for and chosen
	// fail initialize-future-version: it claims to support version 65535, which there is none of
	// 1 passed, 1 failed, 0 warnings, 0 not applicable
}
