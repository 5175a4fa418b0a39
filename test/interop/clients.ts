import { type Client, clientOf, type Toolkit } from './phrasing.ts';

/** How the toolkits that people use phrase a call: their header fields, their prefixes, their way over the wire. */
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const XSD = 'xmlns:xsd="http://www.w3.org/2001/XMLSchema"';
const type11 = 'Content-Type: text/xml; charset=utf-8';
const type12 = 'Content-Type: application/soap+xml; charset=utf-8';
const quoted = 'SOAPAction: "ACTION"';

const toOffset = (iso: string): string =>
  `${new Date(Date.parse(iso) + 2 * 3_600_000).toISOString().slice(0, 19)}.000+02:00`;
const seconds = (iso: string): string => `${iso.slice(0, 19)}Z`;

const TOOLKITS: readonly Toolkit[] = [
  {
    name: 'mono-wsdl',
    fields: {
      soap11: ['Host: HOST', 'User-Agent: Mono Web Services Client Protocol', type11, quoted, 'Accept-Encoding: gzip'],
      soap12: ['Host: HOST', `${type12}; action="ACTION"`, 'Accept-Encoding: gzip'],
    },
    delivery: 'waits',
    envelope: `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="ENV" ${XSI} ${XSD}><soap:Body>BODY</soap:Body></soap:Envelope>`,
    date: toOffset,
  },
  {
    name: 'php-soap',
    fields: {
      soap11: ['Host: HOST', 'Connection: Keep-Alive', 'User-Agent: PHP-SOAP/8.2.35', type11, quoted],
      soap12: ['Host: HOST', 'Connection: Keep-Alive', `${type12}; action="ACTION"`, 'Accept-Encoding: gzip, deflate'],
    },
    envelope:
      '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope xmlns:SOAP-ENV="ENV" xmlns:ns1="NS"><SOAP-ENV:Body>BODY</SOAP-ENV:Body></SOAP-ENV:Envelope>\n',
    prefix: 'ns1',
    declares: false,
    date: seconds,
  },
  {
    name: 'zeep',
    fields: {
      soap11: ['Host: HOST', 'Accept-Encoding: gzip, deflate', 'Connection: keep-alive', quoted, type11],
      soap12: ['Host: HOST', 'Accept-Encoding: gzip, deflate', quoted, `${type12}; action="ACTION"`],
    },
    envelope: `<?xml version='1.0' encoding='utf-8'?>\n<soap-env:Envelope xmlns:soap-env="ENV"><soap-env:Body>BODY</soap-env:Body></soap-env:Envelope>`,
    prefix: 'ns0',
    date: (iso) => seconds(iso).replace('Z', '+00:00'),
  },
  {
    name: 'suds',
    versions: ['soap11'],
    fields: {
      soap11: ['Accept-Encoding: identity', 'Host: HOST', type11, 'Soapaction: "ACTION"', 'Connection: close'],
    },
    envelope: `<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:ns0="NS" xmlns:ns1="ENV" ${XSI} xmlns:SOAP-ENV="ENV"><SOAP-ENV:Header/><ns1:Body>BODY</ns1:Body></SOAP-ENV:Envelope>`,
    prefix: 'ns0',
    declares: false,
  },
  {
    name: 'soap-lite',
    fields: {
      soap11: ['TE: deflate,gzip;q=0.3', 'Connection: TE, close', 'Host: HOST', type11, 'SOAPAction: ACTION'],
      soap12: ['TE: deflate,gzip;q=0.3', 'Connection: TE, close', 'Host: HOST', type12, 'SOAPAction: ACTION'],
    },
    envelope: `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope ${XSI} xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" ${XSD} soap:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/" xmlns:soap="ENV"><soap:Body>BODY</soap:Body></soap:Envelope>`,
    typed: true,
  },
  {
    name: 'soap-lite with ns(), which leaves parameters in no namespace',
    versions: ['soap11'],
    fields: { soap11: ['TE: deflate,gzip;q=0.3', 'Connection: TE, close', 'Host: HOST', type11, 'SOAPAction: ACTION'] },
    envelope: `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope ${XSI} ${XSD} soap:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/" xmlns:soap="ENV"><soap:Body>BODY</soap:Body></soap:Envelope>`,
    prefix: 'namesp1',
    typed: true,
    unqualifiedChildren: true,
  },
  {
    name: 'tclws',
    versions: ['soap11'],
    fields: {
      soap11: [
        ...['Host: HOST', 'User-Agent: Tcl http client package 2.9.5', 'Connection: close', quoted],
        ...['Accept: */*', 'Accept-Encoding: gzip,deflate,compress', 'Content-Type: text/xml;charset=utf-8'],
      ],
    },
    envelope: `<?xml version="1.0"  encoding="utf-8"?>\n<SOAP-ENV:Envelope xmlns:SOAP-ENV="ENV" xmlns:SOAP-ENC="http://schemas.xmlsoap.org/soap/encoding/" ${XSI} ${XSD} xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:http="http://schemas.xmlsoap.org/wsdl/http/" xmlns:mime="http://schemas.xmlsoap.org/wsdl/mime/" xmlns:tns1="NS" xmlns:tns2="NS/AbstractTypes"><SOAP-ENV:Body>BODY</SOAP-ENV:Body></SOAP-ENV:Envelope>`,
    prefix: 'tns1',
    declares: false,
    references: true,
    date: seconds,
  },
  {
    name: 'node-soap',
    fields: {
      soap11: [type11, 'User-Agent: node-soap/1.13.0', 'Accept-Encoding: none', 'Host: HOST', quoted],
      soap12: [`${type12}; action="ACTION"`, 'Accept-Encoding: none', 'Host: HOST', 'Connection: keep-alive'],
    },
    envelope: `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="ENV" ${XSI}  xmlns:tns="NS" xmlns:tm="http://microsoft.com/wsdl/mime/textMatching/"><soap:Body>BODY</soap:Body></soap:Envelope>`,
  },
  {
    name: 'strong-soap',
    fields: {
      soap11: ['Accept-Encoding: none', 'Accept-Charset: utf-8', 'Connection: close', 'Host: HOST', type11, quoted],
      soap12: ['Accept-Encoding: none', 'Accept-Charset: utf-8', 'Connection: close', 'Host: HOST', type12],
    },
    envelope:
      '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<soap:Envelope xmlns:soap="ENV">\n  <soap:Header/>\n  <soap:Body>BODY\n  </soap:Body>\n</soap:Envelope>',
    prefix: 'ns1',
    indent: '\n    ',
  },
  {
    name: 'axis1',
    http: '1.0',
    fields: {
      soap11: [
        type11,
        'Accept: application/soap+xml, application/dime, multipart/related, text/*',
        'Host: HOST',
        quoted,
      ],
      soap12: ['Content-Type: application/soap+xml; charset=UTF-8', 'Cache-Control: no-cache', 'Host: HOST', quoted],
    },
    envelope: `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="ENV" ${XSD} ${XSI}><soapenv:Body>BODY</soapenv:Body></soapenv:Envelope>`,
  },
  {
    name: 'jaxws',
    fields: {
      soap11: [type11, quoted, 'User-Agent: JAX-WS RI 2.3.2', 'Host: HOST', 'Connection: keep-alive'],
      soap12: ['Content-Type: application/soap+xml; charset=utf-8;action="ACTION"', 'Host: HOST'],
    },
    delivery: 'chunks',
    envelope: `<?xml version='1.0' encoding='UTF-8'?><S:Envelope xmlns:S="ENV" xmlns:xs="http://www.w3.org/2001/XMLSchema"><S:Body>BODY</S:Body></S:Envelope>`,
    date: toOffset,
  },
  {
    name: 'gsoap',
    fields: {
      soap11: ['Host: HOST', 'User-Agent: gSOAP/2.8', type11, 'Connection: keep-alive', quoted],
      soap12: ['Host: HOST', `${type12}; action="ACTION"`, 'Connection: keep-alive', quoted],
    },
    delivery: 'chunks',
    envelope: `<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope xmlns:SOAP-ENV="ENV" xmlns:SOAP-ENC="http://schemas.xmlsoap.org/soap/encoding/" ${XSI} ${XSD} xmlns:api="NS"><SOAP-ENV:Body>BODY</SOAP-ENV:Body></SOAP-ENV:Envelope>`,
    prefix: 'api',
    declares: false,
    date: (iso) => `${iso.slice(0, 19)}.000000Z`,
  },
  {
    name: 'kdsoap',
    fields: {
      soap11: [
        'SoapAction: "ACTION"',
        ...[
          'Content-Type: text/xml;charset=utf-8',
          'Accept-Encoding: compress',
          'Connection: Keep-Alive',
          'Host: HOST',
        ],
      ],
      soap12: [
        'Content-Type: application/soap+xml;charset=utf-8;action=ACTION',
        ...['Accept-Encoding: compress', 'User-Agent: Mozilla/5.0', 'Connection: Keep-Alive', 'Host: HOST'],
      ],
    },
    delivery: 'two packets',
    envelope: `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope xmlns:soap="ENV" xmlns:soap-enc="http://schemas.xmlsoap.org/soap/encoding/" ${XSD} ${XSI} xmlns:n1="NS"><soap:Body>BODY</soap:Body></soap:Envelope>`,
    prefix: 'n1',
    declares: false,
  },
];

export const CLIENTS: readonly Client[] = TOOLKITS.flatMap((toolkit) =>
  (toolkit.versions ?? (['soap11', 'soap12'] as const)).map((version) => clientOf(toolkit, version)),
);
