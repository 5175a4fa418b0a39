/**
 * The names of the provider files that Columba ships. They have a module of their own, because help
 * lists them and must load fast.
 */
export const shippedProviders: readonly string[] = [
  'africastalking',
  'android-sms-gateway',
  'bulksms',
  'clickatell',
  'gammu-rest',
  'httpsms',
  'infobip',
  'kannel-sendsms',
  'messagebird',
  'plivo',
  'sinch',
  'smsportal',
  'telnyx',
  'twilio',
  'vonage',
];
