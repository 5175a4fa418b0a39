/** Texts of signing in and out. */
export const texts = {
  title: 'Sign in',
  lead: 'This is the console of the message service.',
  kind: 'Who are you?',
  kinds: { account: 'Holder of an account', operator: 'Operator of the service' },
  name: 'Name',
  nameHint: 'The username of the account, or the name of the operator.',
  password: 'Password',
  submit: 'Sign in',
  noPassword:
    'There is no password to begin with. Ask the operator for a sign-in link: it opens the console once, and there you choose a password.',
  link: {
    title: 'Sign in with your link',
    lead: (name: string) => `This link signs in ${name}.`,
    once: 'It works once. Afterwards choose a password, or ask for another link the next time.',
    submit: 'Sign in',
    invalid: 'The link is not valid any more. Ask the operator for another one.',
  },
  code: {
    title: 'Second step',
    lead: 'Open your authenticator program and type the code that it shows. A recovery code works too.',
    code: 'Code',
    submit: 'Go on',
    cancel: 'Cancel and sign out',
  },
  tls: {
    title: 'The console needs HTTPS here',
    lead: 'Passwords must not cross a network in the clear. So over plain HTTP the console works only on the machine itself.',
    steps: [
      'Put a reverse proxy with TLS in front of the web listener, and name it in COLUMBA_TRUSTED_PROXIES.',
      'Set COLUMBA_WEB_URL to the address that people use, such as https://sms.example.',
      'Or open the console on the machine itself, for instance through ssh -L 8081:localhost:8081.',
    ],
  },
  signedOut: 'You are signed out.',
  expired: 'Your session has ended, so you have to sign in again. What you have sent is kept here.',
  expiredLost:
    'Your session has ended, so you have to sign in again. What you have sent was too long to be kept here: go back in your browser to copy it.',
  resume: {
    title: 'You are signed in again',
    lead: 'What you have sent before is still here. Nothing was done with it yet.',
    submit: 'Go on with it',
    drop: 'Drop it',
  },
} as const;
