package envscrub_test

import (
	"fmt"

	"github.com/errand-acp/errand/envscrub"
)

func ExampleScrub() {
	environ := []string{
		"PATH=/usr/bin",
		"KEYBOARD_LAYOUT=us",
		"GITHUB_TOKEN=one",
		"AWS_SECRET_ACCESS_KEY=two",
		"DATABASE_URL=postgres://app:three@db/app",
		"HTTPS_PROXY=http://me:four@proxy:8080",
	}
	child, report := envscrub.Scrub(environ, envscrub.Policy{
		Pass: []string{"GITHUB_*"},
		Set:  []string{"OPENAI_API_KEY=explicit"},
	})
	for _, entry := range child {
		fmt.Println(entry)
	}
	fmt.Println("withheld:", report.Withheld())
	fmt.Println("exposed:", report.Exposed)
	// Output:
	// PATH=/usr/bin
	// KEYBOARD_LAYOUT=us
	// GITHUB_TOKEN=one
	// HTTPS_PROXY=http://me@proxy:8080
	// OPENAI_API_KEY=explicit
	// withheld: [AWS_SECRET_ACCESS_KEY DATABASE_URL]
	// exposed: [{GITHUB_TOKEN token}]
}

func ExamplePolicy_Validate() {
	err := envscrub.Policy{Set: []string{"OPENAI_API_KEY"}}.Validate()
	fmt.Println(err)
	// Output:
	// environment policy: Set[0] ("OPENAI_API_KEY"): no "=" in it; want KEY=VALUE
}

func ExampleSecret() {
	fmt.Println(envscrub.Secret("MAX_TOKENS", "4096"))
	fmt.Println(envscrub.Secret("DBPASS", "hunter2"))
	// Output:
	//  false
	// password true
}
